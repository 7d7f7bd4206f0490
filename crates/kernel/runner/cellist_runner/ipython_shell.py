"""IPython's own shell on the same variables, for magics that only it has."""

import builtins
import sys

from .display import display
from .hooks import find_spec
from .namespace import RUNNER_NAMES
from .shell import UsageError, get_ipython, not_supported

# Made when a magic of its own is asked for.
_full = None


def run_magic(shell, kind, name, line, cell):
    """Runs a magic that is not ours: IPython may be there and know it."""
    full = full_shell(shell) if find_spec("IPython", None, None) is not None else None
    if full is not None and full.find_magic(name, kind) is not None:
        try:
            if kind == "line":
                return full.run_line_magic(name, line, _stack_depth=3)
            return full.run_cell_magic(name, line, cell)
        except AttributeError as error:
            if "'ZMQInteractiveShell' object has no attribute" not in str(error):
                raise
            raise not_supported(("%" if kind == "line" else "%%") + name) from None
    if kind == "line":
        text = "Line magic function `%%%s` not found." % name
        if shell.find_magic(name, "cell") is not None:
            text += " But cell magic `%%%%%s` exists, did you mean that instead?" % name
    else:
        text = "Cell magic `%%%%%s` not found." % name
        if shell.find_magic(name) is not None:
            text += " But line magic `%%%s` exists, did you mean that instead?" % name
    raise UsageError(text)


def full_shell(shell):
    """IPython's shell, made without taking anything over from ours."""
    global _full
    if _full is None:
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        kept = {name: shell.user_ns.get(name) for name in RUNNER_NAMES}
        streams, main, hook = (sys.stdout, sys.stderr), sys.modules["__main__"], sys.displayhook
        config = Config()
        config.HistoryManager.enabled = False
        made = InteractiveShell(config=config, user_module=shell.user_module, user_ns=shell.user_ns)
        made.display_pub = shell.display_pub
        sys.stdout, sys.stderr = streams
        sys.modules["__main__"], sys.displayhook = main, hook
        builtins.display, builtins.get_ipython = display, get_ipython
        shell.user_ns.update(kept)
        for name in ("get_ipython", "exit", "quit", "open"):
            shell.user_ns.pop(name, None)
        _full = made
    return _full
