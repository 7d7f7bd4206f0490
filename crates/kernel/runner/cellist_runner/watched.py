"""Small changes to modules of others, right after they were imported."""

import _thread
import os
import types

from .base import MAIN_THREAD, OWNER, library, load, state
from .display import DISPLAY_FUNCTIONS
from .hooks import WATCHED, find_spec
from .shell import get_ipython, no_getpass
from .streams import OTHERS


AFTER = {}


def when_imported(name):
    """Registers a function that is called with a module right after that was imported."""
    assert name in WATCHED

    def register(function):
        AFTER[name] = function
        return function

    return register


@when_imported("linecache")
def _after_linecache(module):
    # Python 3.13 keeps the source of its own command line there.
    module.cache.pop("<string>", None)
    module.cache.update(state.runner.compiler.sources)


@when_imported("asyncio")
def _after_asyncio(module):
    if _thread.get_ident() == MAIN_THREAD:
        state.runner.tasks.prepare()


@when_imported("concurrent.futures.thread")
def _after_thread_pools(module):
    item = module._WorkItem
    make, run = item.__init__, item.run

    # The threads of a pool work for every cell that gives them something to do.
    def __init__(self, *arguments, **keys):
        make(self, *arguments, **keys)
        self._cellist_owner = OWNER.get()

    def _run(self, *arguments, **keys):
        OWNER.set(self._cellist_owner)
        run(self, *arguments, **keys)

    item.__init__, item.run = __init__, _run


@when_imported("subprocess")
def _after_subprocess(module):
    popen = module.Popen
    start = popen._execute_child
    end = popen._handle_exitstatus

    def _execute_child(self, *arguments, **keys):
        state.runner.outlet.separate()
        return start(self, *arguments, **keys)

    def _handle_exitstatus(self, *arguments, **keys):
        end(self, *arguments, **keys)
        # The child's output comes before later output.
        state.runner.outlet.written = OTHERS

    popen._execute_child = _execute_child
    popen._handle_exitstatus = _handle_exitstatus


@when_imported("getpass")
def _after_getpass(module):
    module.getpass = no_getpass


@when_imported("IPython.core.getipython")
def _after_getipython(module):
    module.get_ipython = get_ipython


def _reroute_display(module):
    for function in DISPLAY_FUNCTIONS:
        if hasattr(module, function.__name__):
            setattr(module, function.__name__, function)


when_imported("IPython.core.display_functions")(_reroute_display)
when_imported("IPython.core.display")(_reroute_display)


@when_imported("matplotlib")
def _after_matplotlib(module):
    chosen = os.environ.get("MPLBACKEND")
    if not chosen or "inline" in chosen:
        module.use(load("figures").BACKEND)


@when_imported("matplotlib.pyplot")
def _after_pyplot(_module):
    figures = load("figures").figures
    if figures.wanted:
        figures.take_over()


@when_imported("comm")
def _after_comm(module):
    load("comms").take_over(module)


@when_imported("ipykernel.comm.comm")
def _after_kernel_comm(module):
    # Its comms look for a kernel of ipykernel's own.
    module.BaseComm.publish_msg = load("comms").publish_msg


@when_imported("ipykernel.ipkernel")
def _after_kernel(_module):
    # It took over the package `comm` for itself.
    load("comms").take_over(library("importlib").import_module("comm"))


@when_imported("IPython.core.interactiveshell")
def _after_interactive_shell(module):
    load("ipython_shell").adopt(module)


@when_imported("tqdm.autonotebook")
def _after_tqdm(module):
    # It looks for a module of ipykernel's to tell a notebook from a terminal.
    if find_spec("ipywidgets", None, None) is not None:
        notebook = library("importlib").import_module("tqdm.notebook")
        module.tqdm, module.trange = notebook.tqdm, notebook.trange


@when_imported("plotly.io._renderers")
def _after_plotly(module):
    if not os.environ.get("PLOTLY_RENDERER"):
        module.renderers.default = "plotly_mimetype"
    if getattr(module, "nbformat", True) is None:
        # It only asks for the version, to check that the renderer is new enough.
        module.nbformat = types.SimpleNamespace(__version__="5.10.0")
