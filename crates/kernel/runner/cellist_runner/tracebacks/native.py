"""Tracebacks as Python itself shows them: for groups of errors, and where no other way works."""

from ..base import library
from .frames import user_frames


def native_lines(error):
    """The lines of an error's traceback."""
    made = library("traceback").TracebackException(type(error), error, error.__traceback__)
    strip(made, error)
    return "".join(made.format()).rstrip("\n").split("\n")


def strip(made, error):
    """Takes our frames out of a traceback of Python's own."""
    waiting, seen = [(made, error)], set()
    while waiting:
        part, raised = waiting.pop()
        if part is None or raised is None or id(part) in seen:
            continue
        seen.add(id(part))
        count = len(user_frames(raised.__traceback__))
        part.stack[:] = part.stack[len(part.stack) - count :]
        waiting.append((part.__cause__, raised.__cause__))
        waiting.append((part.__context__, raised.__context__))
        inner = getattr(part, "exceptions", None) or ()
        waiting.extend(zip(inner, getattr(raised, "exceptions", ())))
