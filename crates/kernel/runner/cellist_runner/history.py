"""Earlier cells: finding them by ranges of numbers, and code by its many names."""

import os
import re

from .base import library, state

RANGE = r"(?P<first>~?\d+/)?(?P<start>\d+)?(?:(?P<sign>[-:])(?P<second>~?\d+/)?(?P<end>\d+)?)?$"
CODING = r"#\s*coding[:=]\s*([-\w.]+)"


class Macro:
    """Cells that were given a name, and run again by it."""

    __module__ = "IPython.core.macro"

    def __init__(self, code):
        self.value = "\n".join(line for line in code.splitlines() if not re.match(CODING, line)) + "\n"

    def __str__(self):
        return self.value

    def __repr__(self):
        return "IPython.macro.Macro(%r)" % self.value

    def __add__(self, other):
        return Macro(self.value + (other.value if isinstance(other, Macro) else other))


def ranges(text):
    """Pairs of a first number and the one behind the last, of `4 6-8 10-`; nothing stands for all."""
    if not text.strip():
        return [(1, None)]
    found = []
    for word in text.split():
        match = re.match(RANGE, word)
        # Cells of other sessions are not known here.
        if match is None or match.group("first") or match.group("second") or not match.group("start"):
            continue
        start, end = int(match.group("start")), match.group("end")
        if match.group("sign") is None:
            found.append((start, start + 1))
        else:
            found.append((start, int(end) + (match.group("sign") == "-") if end else None))
    return found


def cells(text, raw=True):
    """The cells of ranges: their numbers and sources, as written or as the Python that ran."""
    namespace = state.runner.namespace
    sources = namespace.raw_inputs if raw else namespace.variables.get("_ih") or []
    picked = []
    for start, end in ranges(text):
        stop = len(sources) if end is None else min(end, len(sources))
        picked += [(number, sources[number]) for number in range(start, stop)]
    return picked


def newest(count, raw=True):
    """The newest cells before the one that runs."""
    return cells("", raw)[:-1][-count:] if count > 0 else []


def matching(pattern, raw=True):
    """The cells that match a pattern such as `*name*`."""
    match = library("fnmatch").fnmatch
    return [(number, source) for number, source in cells("", raw) if match(source, pattern)]


def input_lines(text, raw=False):
    """The sources of ranges as one text; without a range, all but the running cell."""
    picked = cells(text, raw)
    return "\n".join(source for _, source in (picked if text else picked[:-1]))


def find_code(shell, target, raw=True, search_names=False):
    """Code by its name: ranges of cells, an address, a file, or a variable with a text or a macro."""
    code = input_lines(target, raw)
    if code:
        return code
    if target.startswith(("http://", "https://")):
        with library("urllib.request").urlopen(target) as response:
            return response.read().decode("utf-8", "replace")
    for path in (os.path.expanduser(target), os.path.expanduser(target) + ".py"):
        if os.path.isfile(path):
            return source_of(path)
        if os.path.isdir(path):
            raise ValueError("'%s' is a directory, not a regular file." % target)
    try:
        value = eval(target, shell.user_ns)
    except Exception as error:
        problem = "'%s' was not found in history, as a file, url, nor in the user namespace." % target
        raise ValueError(problem) from error
    if isinstance(value, str):
        return value
    if isinstance(value, Macro):
        return value.value
    if search_names:
        return library("inspect").getsource(value)
    raise TypeError("%s is neither a string nor a macro." % target)


def source_of(path):
    """The text of a file of Python, without the line that names its encoding."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = library("importlib.util").decode_source(data)
    except (SyntaxError, UnicodeError):
        text = data.decode("latin-1")
    lines = text.splitlines(True)
    return "".join(
        line for at, line in enumerate(lines) if at > 1 or not re.search("^[ \t\f]*#.*?coding[:=]", line)
    )
