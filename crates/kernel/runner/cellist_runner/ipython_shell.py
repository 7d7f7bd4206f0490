"""IPython's own shell on the same variables, for magics and attributes that only it has."""

import builtins
import sys

from .base import START_PATH, state
from .display import display
from .hooks import find_spec
from .namespace import RUNNER_NAMES
from .shell import UsageError, get_ipython, not_supported

# Made when a magic or an attribute of its own is asked for, and whether that is just being done.
_full = None
_busy = False


def run_magic(shell, kind, name, line, cell):
    """Runs a magic that is not ours: IPython may be there and know it."""
    full = installed_shell(shell)
    if full is not None and name == "store":
        # An extension that IPython's kernels have loaded from their start.
        full.extension_manager.load_extension("storemagic")
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


def installed_shell(shell):
    """IPython's shell; none where it is not installed."""
    if _full is None and (_busy or find_spec("IPython", None, None) is None):
        return None
    return full_shell(shell)


def full_shell(shell):
    """IPython's shell, made without taking anything over from ours."""
    global _full, _busy
    if _full is None:
        # Files in the working folder are no modules of IPython's.
        path, sys.path = sys.path, START_PATH
        _busy = True
        try:
            _full = _make(shell)
        finally:
            _busy, sys.path = False, path
    return _full


def _make(shell):
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
    return made


def adopt(module):
    """Makes our shell the one of IPython's classes: no program makes another by asking for it."""
    shell = state.runner.shell
    module.InteractiveShell.instance = classmethod(lambda _class, *_arguments, **_keys: shell)
    module.InteractiveShell.initialized = classmethod(lambda _class: True)
    module.InteractiveShellABC.register(type(shell))
    try:
        make_configurable(shell)
        module.InteractiveShellABC.register(type(shell))
    except Exception:
        # Magics of classes do not find a shell to belong to; all else works.
        pass


def make_configurable(shell):
    """Lets objects of IPython's have our shell as their parent."""
    from traitlets.config import Config, SingletonConfigurable

    ours = type(shell)
    if issubclass(ours, SingletonConfigurable):
        return
    settings = Config({name: dict(values) for name, values in shell.config.items()})
    names = {"__module__": ours.__module__, "__doc__": ours.__doc__, "__init__": ours.__init__}
    kind = type(SingletonConfigurable)(ours.__name__, (ours, SingletonConfigurable), names)
    del shell.config
    shell.__class__ = kind
    shell.setup_instance()
    shell.config = settings
