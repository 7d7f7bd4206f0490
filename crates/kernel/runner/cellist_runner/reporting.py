"""Which way an error is shown: as an output, by a handler of the program's, or as the wrong use of a magic."""

import sys

from .base import load, state


def remember(error):
    """Keeps the newest error where debuggers and `%tb` look for it."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        setattr(sys, "last_exc", error)


def is_usage_error(error):
    """Whether it is the wrong use of a magic, ours or IPython's."""
    names = [(kind.__module__, kind.__name__) for kind in type(error).__mro__]
    return ("IPython.core.error", "UsageError") in names


def show_failure(shell, error):
    """Shows the error that ended a cell, or code that a cell ran."""
    if is_usage_error(error):
        shell.show_usage_error(error)
        return
    remember(error)
    if type(error).__name__ == "BdbQuit" and type(error).__module__ == "bdb":
        # The user left the debugger.
        return
    if shell.custom_exceptions and isinstance(error, shell.custom_exceptions):
        shell.CustomTB(type(error), error, error.__traceback__)
        return
    state.runner.show_error(error)
    if shell.call_pdb and not isinstance(error, (SyntaxError, SystemExit)):
        try:
            load("debugging").post_mortem(error)
        except Exception as worse:
            state.runner.show_error(worse)


def show_newest(shell, given):
    """Shows a given error, or the one that is being handled, or the newest."""
    error = given[1] if given else sys.exc_info()[1] or getattr(sys, "last_value", None)
    if error is None:
        print("No traceback available to show.", file=sys.stderr)
    elif is_usage_error(error):
        shell.show_usage_error(error)
    else:
        remember(error)
        state.runner.show_error(error)


def set_handler(shell, kinds, handler):
    """Gives errors of some kinds to a handler."""
    if not isinstance(kinds, tuple):
        raise TypeError("The custom exceptions must be given as a tuple.")

    def guarded(kind, error, trace, tb_offset=None):
        try:
            return checked_lines(handler(shell, kind, error, trace, tb_offset=tb_offset))
        except BaseException as worse:
            shell.set_custom_exc((), None)
            print("Custom TB Handler failed, unregistering", file=sys.stderr)
            print("\n".join(load("errors").error_fields(worse)["traceback"]))
            print("The original exception:")
            return load("errors").error_fields(error)["traceback"]

    shell.CustomTB = guarded if handler is not None else _describe
    shell.custom_exceptions = kinds


def _describe(kind, error, trace, tb_offset=None):
    print("*** Simple custom exception handler ***")
    print("Exception type :", kind)
    print("Exception value:", error)
    print("Traceback      :", trace)


def checked_lines(made):
    """The lines that a handler returned; an error where they are none."""
    if made is None:
        return []
    lines = [made] if isinstance(made, str) else made
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise TypeError("CustomTB must return list of strings, not %r" % (made,))
    return lines
