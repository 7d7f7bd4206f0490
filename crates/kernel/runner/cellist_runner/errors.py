"""Errors as their readers see them."""

import sys

from .base import is_ours, library, state


def error_fields(error):
    """An error as its name, its message and the lines of its traceback, without frames of ours."""
    name = type(error).__name__
    try:
        message = str(error)
    except Exception:
        message = "<the error's own text cannot be made>"
    try:
        lines = traceback_lines(error)
    except Exception as worse:
        lines = ["%s: %s" % (name, message), "(the traceback cannot be made: %r)" % worse]
    return {"name": name, "message": message, "traceback": lines}


def exit_status(error):
    """The exit status of a process that ends with this, or with nothing; prints the message, as Python does."""
    if error is None:
        return 0
    code = error.code if isinstance(error, SystemExit) else 1
    if code is None:
        return 0
    if not isinstance(code, int):
        print(code, file=sys.stderr)
        return 1
    return code & 0xFF


def traceback_lines(error):
    """The lines of a traceback."""
    traceback = library("traceback")
    if isinstance(error, SystemExit):
        return traceback.format_exception_only(type(error), error)[-1].splitlines()
    made = traceback.TracebackException(type(error), error, error.__traceback__)
    seen = set()

    def strip(part):
        if part is None or id(part) in seen:
            return
        seen.add(id(part))
        stack = [frame for frame in part.stack if not is_ours(frame.filename)]
        # The frames above the cell are ours: of the event loop, for instance.
        first = next((at for at, frame in enumerate(stack) if frame.filename in state.runner.compiler.sources), 0)
        if stack[first:]:
            part.stack[:] = stack[first:]
        else:
            part.stack = None
            part.exc_traceback = None
        strip(part.__cause__)
        strip(part.__context__)
        for inner in getattr(part, "exceptions", None) or ():
            strip(inner)

    strip(made)
    text = "".join(made.format_exception_only() if state.runner.shell.xmode == "Minimal" else made.format())
    return text.rstrip("\n").split("\n")
