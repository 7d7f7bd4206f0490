"""Modules that are watched, and modules that stand in for missing ones."""

import sys

from .base import load

# Modules that are changed a little right after they were imported: see `watched`.
WATCHED = frozenset(
    (
        "IPython.core.display",
        "IPython.core.display_functions",
        "IPython.core.getipython",
        "IPython.core.interactiveshell",
        "asyncio",
        "comm",
        "concurrent.futures.thread",
        "getpass",
        "ipykernel.comm.comm",
        "ipykernel.ipkernel",
        "linecache",
        "matplotlib",
        "matplotlib.pyplot",
        "plotly.io._renderers",
        "subprocess",
        "tqdm.autonotebook",
    )
)

# Modules that programs import, also where they are not installed, and the part of ours that fills them.
STAND_INS = {
    "IPython": "ipython",
    "IPython.core": "ipython",
    "IPython.core.debugger": "debugging",
    "IPython.core.display": "ipython",
    "IPython.core.display_functions": "ipython",
    "IPython.core.error": "ipython",
    "IPython.core.getipython": "ipython",
    "IPython.core.interactiveshell": "ipython",
    "IPython.core.magic": "ipython_magic",
    "IPython.core.magic_arguments": "ipython_arguments",
    "IPython.core.pylabtools": "ipython",
    "IPython.display": "ipython",
    "IPython.lib": "ipython",
    "IPython.lib.display": "ipython",
    "IPython.lib.pretty": "ipython",
    "IPython.utils": "ipython",
    "IPython.utils.capture": "ipython",
    "IPython.utils.io": "ipython",
    "cellist_figures": "figures",
    "comm": "ipython_comm",
    "comm.base_comm": "ipython_comm",
}
PACKAGES = ("IPython", "IPython.core", "IPython.lib", "IPython.utils", "comm")


class ImportHooks:
    """Runs code of ours right after some modules were imported, and makes stand-ins for missing ones.

    It costs a look into a table for each module that is imported, and nothing before.
    """

    def __init__(self):
        self.busy = set()

    def find_spec(self, name, path=None, target=None):
        """The hook for the import system."""
        watched = name in WATCHED
        missing = STAND_INS.get(name)
        if not (watched or missing) or name in self.busy:
            return None
        self.busy.add(name)
        try:
            spec = find_spec(name, path, target)
        finally:
            self.busy.discard(name)
        if spec is None:
            if missing is None:
                return None
            machinery = sys.modules["_frozen_importlib"]
            return machinery.ModuleSpec(name, StandInLoader(missing), is_package=name in PACKAGES)
        if watched and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                try:
                    self.after_import(module)
                except Exception:
                    # The module works without us, as it does everywhere else.
                    pass

            try:
                spec.loader.exec_module = exec_module
            except AttributeError:
                pass
        return spec

    def after_import(self, module):
        """Runs the action for a watched module after its import."""
        load("watched").AFTER[module.__name__](module)


def find_spec(name, path, target):
    """The result of the other finders."""
    for finder in sys.meta_path:
        if finder is hooks or not hasattr(finder, "find_spec"):
            continue
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            return spec
    return None


class StandInLoader:
    """Fills a module that stands in for a missing one."""

    def __init__(self, part):
        self.part = part

    def create_module(self, _spec):
        """An ordinary module will do."""
        return None

    def exec_module(self, module):
        """Fills it."""
        load(self.part).fill(module)


hooks = ImportHooks()
