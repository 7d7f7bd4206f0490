"""Magics that run code: captured, or from a file."""

import os
import re
import sys
import types

from ..base import library, load, state
from ..jsontext import from_json
from ..shell import UsageError


class RunningMagics:
    """Running code: captured, or from a file."""

    def line_run(self, line):
        """Runs a file, as a program or (`-i`) on the variables of the session."""
        words = library("shlex").split(line)
        shared = False
        while words and words[0].startswith("-"):
            option = words.pop(0)
            shared = shared or option == "-i"
            if option == "--":
                break
        if not words:
            raise UsageError("you must provide at least a filename.")
        path = os.path.expanduser(words[0])
        if not os.path.exists(path) and os.path.exists(path + ".py"):
            path += ".py"
        if not os.path.exists(path):
            raise Exception("File `%r` not found." % words[0])
        if path.endswith((".ipynb", ".ipy")):
            return self._run_cells(path)
        module = types.ModuleType("__main__")
        namespace = self.shell.user_ns if shared else module.__dict__
        with library("io").open_code(os.path.abspath(path)) as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        kept = sys.argv, sys.modules["__main__"], list(sys.path)
        sys.argv = [path] + words[1:]
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        namespace["__file__"] = path
        if not shared:
            sys.modules["__main__"] = module
        try:
            exec(code, namespace)
        except SystemExit as end:
            if end.code not in (None, 0):
                self.shell.showtraceback()
        except Exception:
            # The program failed, and the cell goes on.
            self.shell.showtraceback()
        finally:
            sys.argv, sys.modules["__main__"], sys.path[:] = kept
            if shared:
                namespace.pop("__file__", None)
            else:
                names = {name: value for name, value in namespace.items() if not re.fullmatch("__.*__", name)}
                self.shell.user_ns.update(names)
                # Functions of the program keep using its own variables.
                self.programs.append(module)
        return None

    def _run_cells(self, path):
        with open(path, "rb") as file:
            text = file.read()
        sources = [text.decode("utf-8")]
        if path.endswith(".ipynb"):
            cells = from_json(text).get("cells", [])
            sources = ["".join(cell.get("source", "")) for cell in cells if cell.get("cell_type") == "code"]
        for source in sources:
            self.shell.run_cell(source, silent=True).raise_error()

    def line_capture(self, _line):
        """Only as a cell magic."""
        raise UsageError("%capture captures a whole cell: write `%%capture` on its first line.")

    def cell_capture(self, line, cell):
        """Keeps the cell's output, in a variable if one is named."""
        words = line.split()
        names = [word for word in words if not word.startswith("-")]
        captured = load("capture").Captured(
            *("--no-" + what not in words for what in ("stdout", "stderr", "display"))
        )
        with captured:
            state.runner.run_source(cell, state.runner.cell_name, True)
        if names:
            self.shell.user_ns[names[0]] = captured
