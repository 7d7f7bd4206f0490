"""Magics that measure where code spends its time."""

import io

from ..base import library, load
from ..shell import UsageError, print_page


class ProfilingMagics:
    """Where code spends its time."""

    def line_prun(self, line=""):
        """Runs a statement under the profiler: `-s KEY` sorts, `-l N` limits, `-T` and `-D` write files."""
        return self.cell_prun(line, None)

    def cell_prun(self, line, cell=None):
        """Runs the cell under the profiler."""
        getopt = library("getopt")
        words, code = leading_options(line, "DlsT")
        try:
            options = getopt.getopt(words, "D:l:rs:T:q")[0]
        except getopt.GetoptError as error:
            raise UsageError(error.msg) from None
        if cell is not None:
            code += "\n" + cell
        code = load("syntax").python_source(code)
        profile, ended, names = library("cProfile").Profile(), "", self.shell.user_ns
        try:
            profile.runctx(code, names, names)
        except SystemExit:
            ended = "*** SystemExit exception caught in code being profiled."
        keys = [value for name, value in options if name == "-s"] or ["time"]
        stats = library("pstats").Stats(profile, stream=io.StringIO()).strip_dirs().sort_stats(*keys)
        stats.print_stats(*[restriction(value) for name, value in options if name == "-l"])
        text, given = stats.stream.getvalue().rstrip(), dict(options)
        if "-q" not in given:
            print_page(text)
        print(ended, end=" ")
        if "-D" in given:
            profile.dump_stats(given["-D"])
            print("\n*** Profile stats marshalled to file %r.%s" % (given["-D"], ended))
        if "-T" in given:
            with open(given["-T"], "w", encoding="utf-8") as file:
                file.write(text)
            print("\n*** Profile printout saved to text file %r.%s" % (given["-T"], ended))
        return stats if "-r" in given else None


def leading_options(line, with_value):
    """The options in front of code, as words, and the code; some letters are followed by a value."""
    words, rest = [], line.strip()
    while rest.startswith("-") and rest[1:2].isalpha():
        word, _, rest = rest.partition(" ")
        words.append(word)
        rest = rest.lstrip()
        if len(word) == 2 and word[1] in with_value:
            value, _, rest = rest.partition(" ")
            words.append(value.strip("'\""))
            rest = rest.lstrip()
    return words, rest


def restriction(text):
    """A limit of the table: a number of lines, a share of them, or a pattern."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text.strip("'\"")
