"""Tracebacks as Jupyter's own kernel shows them, in each of the modes of `%xmode`."""

from ..base import load
from .colours import RED, paint
from .frames import Renderer
from .layout import layout
from .listing import exception_lines, plain_lines, syntax_lines

WIDTH = 75
CAUSE = "\nThe above exception was the direct cause of the following exception:\n"
CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n"
# Lines around the one that runs: for the error itself and for those before it.
LINES, LINES_BEFORE = 5, 3


def render(error, mode):
    """The parts of an error's traceback."""
    if isinstance(error, SyntaxError):
        return syntax_lines(error)
    if isinstance(error, SystemExit):
        return ["An exception has occurred, use %tb to see the full traceback.\n", exception_lines(error)]
    if layout().groups and has_group(error):
        return load("tracebacks.native").native_lines(error)
    if hasattr(error, "_render_traceback_"):
        return list(error._render_traceback_())
    if mode == "Minimal":
        return plain_lines(error, frames=False)
    if mode == "Plain":
        return plain_lines(error)
    if mode == "Docs":
        return load("tracebacks.docs").docs_lines(error)
    return context_lines(error, mode == "Verbose")


def context_lines(error, verbose):
    """The errors of a chain, the first one first, each with its frames and the lines around them."""
    renderer = Renderer(verbose)
    chain, seen, lines = [], set(), LINES
    while error is not None:
        part = [_head(type(error).__name__)]
        part += renderer.frames(error.__traceback__, lines)
        chain.append(part + message_lines(error))
        before = before_error(error)
        if before is None or id(before) in seen:
            break
        # The first of a chain may come again, once.
        seen.add(id(before))
        chain.append([CAUSE if error.__cause__ else CONTEXT])
        error, lines = before, LINES_BEFORE
    parts = [paint(RED, "-" * WIDTH)]
    for part in reversed(chain):
        parts += part
    return parts


def before_error(error):
    """The error that led to this one, unless it is kept out."""
    cause = getattr(error, "__cause__", None)
    if cause:
        return cause
    if getattr(error, "__suppress_context__", False):
        return None
    return getattr(error, "__context__", None)


def _head(name):
    return paint(RED, name) + "Traceback (most recent call last)".rjust(WIDTH - len(name))


def message_lines(error):
    """The name and the message of an error, and its notes."""
    name = type(error).__name__
    try:
        message = str(error)
    except Exception as worse:
        name, message = str(str), str((type(worse), worse))
    return [paint(RED, name) + ": " + message] + notes(error)


def notes(error):
    """The notes that were added to an error."""
    if not layout().notes:
        return []
    found = getattr(error, "__notes__", [])
    if isinstance(found, (list, tuple)):
        return [str(note) for note in found]
    try:
        return [repr(found)]
    except Exception:
        return ["<__notes__ repr() failed>"]


def has_group(error):
    """Whether a group of errors is among those that led to this one."""
    seen = set()
    while error is not None and id(error) not in seen:
        if hasattr(error, "exceptions") and any(
            base.__name__ == "BaseExceptionGroup" for base in type(error).__mro__
        ):
            return True
        seen.add(id(error))
        error = error.__context__
    return False
