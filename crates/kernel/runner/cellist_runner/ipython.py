"""Stands in for modules of IPython where that is not installed."""

from .base import library, load, state
from .display import DISPLAY_FUNCTIONS
from .shell import StdinNotImplementedError, UsageError, ZMQInteractiveShell, get_ipython


def fill(module):
    """Fills a module by its name."""
    function = FILLS.get(module.__name__)
    if function is not None:
        function(module)


def _ipython(module):
    # Old enough for nothing to be missed, new enough for libraries not to work around bugs of long ago.
    module.version_info = (8, 37, 0, "")
    module.__version__ = "8.37.0"
    module.get_ipython = get_ipython

    def submodule(name):
        if name in ("display", "core", "lib"):
            return library("importlib").import_module("IPython." + name)
        raise AttributeError("module 'IPython' has no attribute %r" % name)

    module.__getattr__ = submodule


def _getipython(module):
    module.get_ipython = get_ipython


def _interactiveshell(module):
    module.InteractiveShell = ZMQInteractiveShell


def _error(module):
    module.UsageError, module.StdinNotImplementedError = UsageError, StdinNotImplementedError


def _pylabtools(module):
    module.backend2gui = {}


def _display_functions(module):
    for function in DISPLAY_FUNCTIONS:
        setattr(module, function.__name__, function)


def _magic(module):
    def registrar(kind):
        def register(function):
            if isinstance(function, str):
                return lambda inner: registered(inner, function)
            return registered(function, function.__name__)

        def registered(function, name):
            state.runner.shell.register_magic_function(function, kind, name)
            return function

        return register

    for kind in ("line", "cell", "line_cell"):
        setattr(module, "register_%s_magic" % kind, registrar(kind))
    module.needs_local_scope = lambda function: function


def _display(module):
    load("ipython_display").fill(module)


def _pretty(module):
    ours, types = load("pretty"), load("pretty_types")
    for name in ("pretty", "pprint", "PrettyPrinter", "RepresentationPrinter", "for_type", "for_type_by_name"):
        setattr(module, name, getattr(ours, name))
    for name in ("CallExpression", "RawText", "RawStringLiteral"):
        setattr(module, name, getattr(types, name))
    module.MAX_SEQ_LENGTH = ours.MAX_SEQ_LENGTH


FILLS = {
    "IPython": _ipython,
    "IPython.core.display": _display,
    "IPython.core.display_functions": _display_functions,
    "IPython.core.error": _error,
    "IPython.core.getipython": _getipython,
    "IPython.core.interactiveshell": _interactiveshell,
    "IPython.core.magic": _magic,
    "IPython.core.pylabtools": _pylabtools,
    "IPython.display": _display,
    "IPython.lib.display": _display,
    "IPython.lib.pretty": _pretty,
}
