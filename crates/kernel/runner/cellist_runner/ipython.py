"""Stands in for modules of IPython where that is not installed."""

from .base import library, load
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
        if name in ("display", "core", "lib", "utils"):
            return library("importlib").import_module("IPython." + name)
        raise AttributeError("module 'IPython' has no attribute %r" % name)

    module.__getattr__ = submodule


def _getipython(module):
    module.get_ipython = get_ipython


def _interactiveshell(module):
    execution = load("execution")
    module.InteractiveShell = module.InteractiveShellABC = ZMQInteractiveShell
    module.ExecutionInfo, module.ExecutionResult = execution.ExecutionInfo, execution.ExecutionResult


def _error(module):
    module.UsageError, module.StdinNotImplementedError = UsageError, StdinNotImplementedError


def _pylabtools(module):
    module.backend2gui = {}
    module.figsize, module.getfigs = load("figures").figsize, load("figures").getfigs


def _display_functions(module):
    for function in DISPLAY_FUNCTIONS:
        setattr(module, function.__name__, function)


def _display(module):
    load("ipython_display").fill(module)


def _capture(module):
    capture = load("capture")
    module.capture_output, module.CapturedIO, module.RichOutput = (
        capture.Captured,
        capture.Captured,
        capture.RichOutput,
    )


def _pretty(module):
    ours, types = load("pretty"), load("pretty_types")
    for name in (
        "pretty",
        "pprint",
        "PrettyPrinter",
        "RepresentationPrinter",
        "for_type",
        "for_type_by_name",
    ):
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
    "IPython.core.pylabtools": _pylabtools,
    "IPython.display": _display,
    "IPython.lib.display": _display,
    "IPython.lib.pretty": _pretty,
    "IPython.utils.capture": _capture,
    "IPython.utils.io": _capture,
}
