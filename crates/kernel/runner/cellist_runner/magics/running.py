"""Magics that run code: timed, captured, or from a file."""

import os
import re
import sys
import types

from ..base import library, load, state
from ..jsontext import from_json
from ..shell import UsageError


class RunningMagics:
    """Running code: timed, captured, or from a file."""

    def line_time(self, line):
        """Times a statement."""
        return self.cell_time("", line)

    def line_timeit(self, line):
        """Times a statement by running it often."""
        return self.cell_timeit(line, None)

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
                raise
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
        if path.endswith(".ipy"):
            return state.runner.run_source(text.decode("utf-8"), path, False)
        for cell in from_json(text).get("cells", []):
            if cell.get("cell_type") == "code":
                source = cell.get("source", "")
                state.runner.run_source("".join(source), path, False)
        return None

    def line_capture(self, _line):
        """Only as a cell magic."""
        raise UsageError("%capture captures a whole cell: write `%%capture` on its first line.")

    def cell_time(self, _line, cell):
        """Times the cell; its last value is still the result."""
        time = library("time")
        source = cell if not _line else _line + "\n" + cell
        parts = state.runner.compiler.compile(source, "<timed exec>")
        wall, processor = time.perf_counter(), os.times()
        try:
            return state.runner.run_parts(parts)
        finally:
            after = os.times()
            wall = time.perf_counter() - wall
            user, system = after.user - processor.user, after.system - processor.system
            print(
                "CPU times: user %s, sys: %s, total: %s\nWall time: %s"
                % (time_text(user), time_text(system), time_text(user + system), time_text(wall))
            )

    def cell_timeit(self, line, cell):
        """Times code by running it often."""
        timeit, time = library("timeit"), library("time")
        options, rest = library("getopt").getopt(split_options(line), "n:r:t:cp:qov:")
        given = dict(options)
        if cell is None:
            setup, code = "pass", " ".join(rest)
        else:
            setup, code = " ".join(rest) or "pass", cell
        code, setup = load("syntax").python_source(code), load("syntax").python_source(setup)
        timer = timeit.Timer(code, setup, timer=time.perf_counter, globals=self.shell.user_ns)
        loops = int(given.get("-n", 0)) or timer.autorange()[0]
        runs = int(given.get("-r", 7))
        times = [taken / loops for taken in timer.repeat(runs, loops)]
        mean = sum(times) / len(times)
        deviation = (sum((taken - mean) ** 2 for taken in times) / len(times)) ** 0.5
        if "-q" not in given:
            print(
                "%s ± %s per loop (mean ± std. dev. of %d run%s, %s loop%s each)"
                % (
                    time_text(mean),
                    time_text(deviation),
                    runs,
                    "" if runs == 1 else "s",
                    format(loops, ","),
                    "" if loops == 1 else "s",
                )
            )
        if "-o" in given:
            return types.SimpleNamespace(
                average=mean, stdev=deviation, best=min(times), all_runs=times, loops=loops
            )
        return None

    def cell_capture(self, line, cell):
        """Keeps the cell's output, in a variable if one is named."""
        words = line.split()
        names = [word for word in words if not word.startswith("-")]
        captured = load("capture").Captured(*("--no-" + what not in words for what in ("stdout", "stderr", "display")))
        with captured:
            state.runner.run_source(cell, state.runner.cell_name, True)
        if names:
            self.shell.user_ns[names[0]] = captured


def split_options(line):
    """Words for getopt: the options in front, then the code as one word."""
    words, rest = [], line.strip()
    while rest.startswith("-"):
        word, _, rest = rest.partition(" ")
        words.append(word)
        rest = rest.lstrip()
        if len(word) == 2 and word[1] in "nrtpv":
            value, _, rest = rest.partition(" ")
            words.append(value)
            rest = rest.lstrip()
    return words + ["--", rest]


def time_text(seconds):
    """A duration with three digits that count, in the unit that fits."""
    if seconds >= 60:
        parts = []
        for unit, name in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
            value, seconds = divmod(seconds, unit)
            if value:
                parts.append("%d%s" % (value, name))
        return " ".join(parts)
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "μs")):
        if seconds >= unit:
            return "%.3g %s" % (seconds / unit, name)
    return "%.3g ns" % (seconds * 1e9) if seconds else "0 ns"
