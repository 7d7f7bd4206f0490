"""Magics about earlier cells: showing, running, naming and saving them."""

import os
import sys

from .. import history
from ..base import library
from ..formatting import plain_text
from ..shell import UsageError, warn


def options_of(line, known):
    """The options in front of a line by their letters, and the other words."""
    getopt = library("getopt")
    try:
        found, words = getopt.gnu_getopt(library("shlex").split(line), known)
    except getopt.GetoptError as error:
        raise UsageError(error.msg) from None
    return {name[1:]: value for name, value in found}, words


class HistoryMagics:
    """Earlier cells: showing, running, naming and saving them."""

    def line_history(self, line=""):
        """Prints earlier cells: `-n` with numbers, `-o` results, `-p` prompts, `-t` as the Python that ran."""
        options, words = options_of(line, "noptyuf:g:l:")
        raw = "t" not in options
        if "g" in options:
            picked = history.matching("*%s*" % " ".join([options["g"]] + words), raw)
        elif "l" in options:
            picked = history.newest(int(options["l"]), raw)
        else:
            picked = history.cells(" ".join(words), raw)
        text = "".join(self._entry(number, source, options) for number, source in picked)
        if "f" not in options:
            sys.stdout.write(text)
            return
        path = os.path.expanduser(options["f"])
        if os.path.exists(path) and "y" not in options:
            print("Overwriting file.")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    line_hist = line_history

    def _entry(self, number, source, options):
        source = source.expandtabs(4).rstrip()
        lines, text = source.split("\n"), ""
        if "n" in options or "g" in options:
            text += "%4d:%s" % (number, "\n" if len(lines) > 1 else " ")
        if "p" in options:
            source = "\n... ".join(lines) + ("\n..." if len(lines) > 1 else "")
            text += ">>> "
        text += source + "\n"
        results = self.shell.user_ns.get("_oh") or {}
        if "o" in options and number in results:
            text += plain_text(results[number]) + "\n"
        return text

    def line_rerun(self, line=""):
        """Runs earlier cells again: ranges, the last `-l N`, or the newest that has `-g TEXT`."""
        options, words = options_of(line, "l:g:")
        if "l" in options:
            try:
                count = int(options["l"])
            except ValueError:
                print("Number of lines must be an integer")
                return
            if count <= 0:
                few = "Requested 0 last lines - nothing to run" if count == 0 else ""
                print(few or "Number of lines to rerun cannot be negative")
                return
            picked = history.newest(count)
        elif "g" in options:
            picked = [cell for cell in history.matching("*%s*" % options["g"]) if "rerun" not in cell[1]][-1:]
        else:
            picked = history.cells(" ".join(words)) if words else history.newest(1)
        source = "\n".join(source for _, source in picked)
        if not picked:
            print("No lines in history match specification")
            return
        print("=== Executing: ===\n%s\n=== Output: ===" % source)
        self.shell.run_cell(source, store_history=False)

    def line_recall(self, line=""):
        """Puts earlier cells, or a value, into the next cell, where a front end has one."""
        line = line.strip()
        if not line:
            self.shell.set_next_input(str(self.shell.user_ns["_"]))
            return
        source = "\n".join(source for _, source in history.cells(line))
        if not source:
            try:
                source = str(eval(line, self.shell.user_ns))
            except Exception:
                found = [cell[1] for cell in history.matching("*%s*" % line) if "recall" not in cell[1]]
                if not found:
                    print("Couldn't evaluate or find in history:", line)
                    return
                source = found[-1]
        self.shell.set_next_input(source.rstrip())

    line_rep = line_recall

    def line_macro(self, line=""):
        """Gives a name to earlier cells, by which they run again; without a name, lists the names."""
        options, words = options_of(line, "rq")
        if not words:
            variables = self.shell.user_ns.items()
            return sorted(name for name, value in variables if isinstance(value, history.Macro))
        if len(words) == 1:
            raise UsageError("%macro insufficient args; usage '%macro name n1-n2 n3-4...")
        try:
            code = history.find_code(self.shell, " ".join(words[1:]), "r" in options)
        except (ValueError, TypeError) as error:
            print(error.args[0])
            return None
        macro = self.shell.user_ns[words[0]] = history.Macro(code)
        if "q" not in options:
            print("Macro `%s` created. To execute, type its name (without quotes)." % words[0])
            print("=== Macro contents: ===")
            print(macro, end=" ")
        return None

    def line_save(self, line=""):
        """Saves earlier cells to a file: `-f` over another, `-a` at its end, `-r` as they were written."""
        options, words = options_of(line, "fra")
        if not words:
            raise UsageError("Missing filename.")
        path = words[0]
        if not path.endswith((".py", ".ipy")):
            path += ".ipy" if "r" in options else ".py"
        path = os.path.expanduser(path)
        exists = os.path.isfile(path)
        if exists and "f" not in options and "a" not in options:
            print("File `%s` exists. Use `%%save -f %s` to force overwrite" % (path, line))
            return
        try:
            code = history.find_code(self.shell, " ".join(words[1:]), "r" in options)
        except (ValueError, TypeError) as error:
            print(error.args[0])
            return
        with open(path, "a" if "a" in options else "w", encoding="utf-8") as file:
            if not exists or "a" not in options:
                file.write("# coding: utf-8\n")
            file.write(code if code.endswith("\n") else code + "\n")
        print("The following commands were written to file `%s`:\n%s" % (path, code))

    def line_load(self, line=""):
        """Puts code into the next cell, where a front end has one: of a file, an address, cells or a macro."""
        options, words = options_of(line, "yns:r:")
        code = history.find_code(self.shell, " ".join(words), True, "n" in options)
        if "s" in options:
            code = "\n".join(self._symbols(code, options["s"].split(",")))
        if "r" in options:
            lines = code.split("\n")
            slices = history.ranges(options["r"].replace(",", " "))
            code = "\n".join(line for start, end in slices for line in lines[start - 1 : end and end - 1])
        self.shell.set_next_input("# %%load %s\n%s" % (line, code), replace=True)

    line_loadpy = line_load

    def _symbols(self, code, names):
        """The functions and classes with some names."""
        tree, lines, found = library("ast").parse(code), code.splitlines(True), {}
        for node in tree.body:
            if getattr(node, "name", None) in names:
                first = min([node.lineno] + [part.lineno for part in getattr(node, "decorator_list", ())])
                found[node.name] = "".join(lines[first - 1 : node.end_lineno])
        for name in names:
            if name not in found:
                warn("The symbol `%s` was not found" % name)
        return [found[name] for name in names if name in found]
