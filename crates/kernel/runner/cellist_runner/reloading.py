"""Loads modules again whose files have changed."""

import os
import sys

from .base import is_ours, library


class Reloads:
    """Loads modules again whose files have changed."""

    def __init__(self):
        self.on = False
        self.times = {}
        self.run(look_only=True)

    def run(self, look_only=False):
        """Looks at every module that the user could have edited."""
        library_folder = os.path.dirname(os.__file__)
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None)
            if not path or not path.endswith(".py") or name == "__main__" or is_ours(path):
                continue
            if path.startswith(library_folder) or "site-packages" in path:
                continue
            try:
                changed = os.stat(path).st_mtime_ns
            except OSError:
                continue
            known = self.times.setdefault(name, changed)
            if changed != known and not look_only:
                self.times[name] = changed
                try:
                    library("importlib").reload(module)
                except Exception as error:
                    print("[autoreload of %s failed: %s]" % (name, error), file=sys.stderr)
