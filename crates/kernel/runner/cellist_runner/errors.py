"""Errors as their readers see them."""

import sys

from .base import load, state


def error_fields(error):
    """An error as its name, its message and the lines of its traceback, without frames of ours."""
    name = type(error).__name__
    try:
        lines = traceback_lines(error)
    except Exception:
        lines = load("tracebacks.native").native_lines(error)
    try:
        message = load("tracebacks.listing").message(error) if isinstance(error, SyntaxError) else str(error)
    except Exception:
        message = "<the error's own text cannot be made>"
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
    """The parts of a traceback, each of one or more lines."""
    return load("tracebacks").render(error, state.runner.shell.xmode)
