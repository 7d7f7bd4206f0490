"""Magics that measure how long code takes."""

import _ast

from ..base import library, load, state
from .profiling import leading_options


class TimeitResult:
    """The times that `%timeit -o` returns."""

    __module__ = "IPython.core.magics.execution"

    def __init__(self, loops, all_runs, compile_time, precision):
        self.loops, self.repeat = loops, len(all_runs)
        self.all_runs, self.compile_time = all_runs, compile_time
        self._precision = precision
        self.timings = [taken / loops for taken in all_runs]
        self.best, self.worst = min(self.timings), max(self.timings)

    @property
    def average(self):
        """The mean time of one loop."""
        return sum(self.timings) / self.repeat

    @property
    def stdev(self):
        """The standard deviation of the times."""
        mean = self.average
        return (sum((taken - mean) ** 2 for taken in self.timings) / self.repeat) ** 0.5

    def __str__(self):
        return "%s ± %s per loop (mean ± std. dev. of %d run%s, %s loop%s each)" % (
            time_text(self.average, self._precision),
            time_text(self.stdev, self._precision),
            self.repeat,
            "" if self.repeat == 1 else "s",
            format(self.loops, ","),
            "" if self.loops == 1 else "s",
        )

    def _repr_pretty_(self, printer, _cycle):
        printer.text("<TimeitResult : %s>" % self)


class TimingMagics:
    """How long code takes."""

    def line_time(self, line):
        """Times a statement."""
        return self.cell_time("", line)

    def cell_time(self, line, cell):
        """Times the cell; its last value is still the result."""
        time, used = library("time"), library("resource")
        source = cell if not line else line + "\n" + cell
        parts = state.runner.compiler.compile(source, "<timed exec>")
        wall, before = time.perf_counter(), used.getrusage(used.RUSAGE_SELF)
        try:
            return state.runner.run_parts(parts)
        finally:
            after = used.getrusage(used.RUSAGE_SELF)
            wall = time.perf_counter() - wall
            user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
            print(
                "CPU times: user %s, sys: %s, total: %s\nWall time: %s"
                % (time_text(user), time_text(system), time_text(user + system), time_text(wall))
            )

    def line_timeit(self, line):
        """Times a statement by running it often."""
        return self.cell_timeit(line, None)

    def cell_timeit(self, line, cell):
        """Times code by running it often."""
        time = library("time")
        words, rest = leading_options(line, "nrtpv")
        given = dict(library("getopt").getopt(words, "n:r:t:cp:qov:")[0])
        setup, code = ("pass", rest) if cell is None else (rest or "pass", cell)
        code, setup = load("syntax").python_source(code), load("syntax").python_source(setup)
        begun = time.perf_counter()
        timer = loop_timer(code, setup, self.shell.user_ns)
        compiled = time.perf_counter() - begun
        loops = int(given.get("-n", 0)) or enough_loops(timer)
        times = timer.repeat(int(given.get("-r", 7)), loops)
        result = TimeitResult(loops, times, compiled, int(given.get("-p", 3)))
        if "-q" not in given:
            if result.worst > 4 * result.best > 0 and result.worst > 1e-6:
                print(
                    "The slowest run took %0.2f times longer than the fastest. This could mean that "
                    "an intermediate result is being cached." % (result.worst / result.best)
                )
            print(result)
        return result if "-o" in given else None


LOOP = """def inner(_it, _timer):
    setup
    _t0 = _timer()
    for _i in _it:
        stmt
    _t1 = _timer()
    return _t1 - _t0
"""


def loop_timer(code, setup, variables):
    """A timer of Python's own kind that runs code in a loop, in which statements keep the numbers of their lines."""
    timeit, made = library("timeit"), {}
    tree, body = parsed(LOOP), parsed(code).body
    start = parsed(setup).body
    for part, name in ((start, "setup"), (body, "stmt")):
        # As a part of a function, some statements would pass that are wrong by themselves.
        compile(_ast.Module(part, []), "<magic-timeit-%s>" % name, "exec", 0, True)
    inner = tree.body[0].body
    inner[2].body = body or parsed("pass").body
    inner[0:1] = start
    exec(
        compile(library("ast").fix_missing_locations(tree), "<magic-timeit>", "exec", 0, True),
        variables,
        made,
    )

    class Timer(timeit.Timer):
        def timeit(self, number=1000000):
            collector = library("gc")
            enabled = collector.isenabled()
            collector.disable()
            try:
                return self.inner(library("itertools").repeat(None, number), self.timer)
            finally:
                if enabled:
                    collector.enable()

    timer = Timer(timer=library("time").perf_counter)
    timer.inner = made["inner"]
    return timer


def parsed(source):
    """The tree of some code."""
    return compile(source, "<unknown>", "exec", _ast.PyCF_ONLY_AST, True)


def enough_loops(timer):
    """How often code has to run to take a fifth of a second: a power of ten."""
    loops = 1
    while timer.timeit(loops) < 0.2 and loops < 10**9:
        loops *= 10
    return loops


def time_text(seconds, precision=3):
    """A duration with as many digits as count, in the unit that fits."""
    if seconds >= 60:
        parts = []
        for unit, name in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
            value, seconds = divmod(seconds, unit)
            if value:
                parts.append("%d%s" % (value, name))
        return " ".join(parts)
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "μs")):
        if seconds >= unit:
            return "%.*g %s" % (precision, seconds / unit, name)
    return "%.*g ns" % (precision, seconds * 1e9) if seconds else "0 ns"
