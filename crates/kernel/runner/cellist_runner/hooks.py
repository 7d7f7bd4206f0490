"""Modules that are watched, and modules that stand in for missing ones."""

import sys

from .base import load

# Modules that are changed a little right after they were imported: see `watched`.
WATCHED = frozenset(
    (
        "IPython.core.display",
        "IPython.core.display_functions",
        "IPython.core.getipython",
        "asyncio",
        "comm",
        "concurrent.futures.thread",
        "getpass",
        "linecache",
        "matplotlib",
        "matplotlib.pyplot",
        "plotly.io._renderers",
        "subprocess",
        "tqdm.autonotebook",
    )
)

# Modules of IPython that programs import, also where it is not installed.
IPYTHON = (
    "IPython",
    "IPython.core",
    "IPython.core.display",
    "IPython.core.display_functions",
    "IPython.core.error",
    "IPython.core.getipython",
    "IPython.core.interactiveshell",
    "IPython.core.magic",
    "IPython.core.pylabtools",
    "IPython.display",
    "IPython.lib",
    "IPython.lib.display",
    "IPython.lib.pretty",
)


class ImportHooks:
    """Runs code of ours right after some modules were imported, and makes stand-ins for missing ones.

    It costs a look into a table for each module that is imported, and nothing before.
    """

    def __init__(self):
        # The part of ours that fills each module that may be missing.
        self.stand_ins = {"cellist_figures": "figures"}
        for name in IPYTHON:
            self.stand_ins[name] = "ipython"
        self.busy = set()

    def find_spec(self, name, path=None, target=None):
        """The hook for the import system."""
        watched = name in WATCHED
        missing = self.stand_ins.get(name)
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
            package = name in ("IPython", "IPython.core", "IPython.lib")
            return machinery.ModuleSpec(name, StandInLoader(missing), is_package=package)
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
