# How the runner gets into a Python that cannot keep it in a folder: its files come through the pipe, as one JSON object.
import json
import os
import sys
from _frozen_importlib import ModuleSpec

rest, pieces = int(sys.argv[1]), []
while rest:
    pieces.append(os.read(3, min(rest, 65536)))
    rest -= len(pieces[-1]) or os._exit(1)
files = json.loads(b"".join(pieces))


class Sent:
    """Finds and loads modules among the files that were sent."""

    def find_spec(self, name, path=None, target=None):
        """The hook for the import system."""
        for end in (".py", "/__init__.py"):
            file = name.replace(".", "/") + end
            if file in files:
                spec = ModuleSpec(name, self, origin="<sent>/" + file, is_package=end != ".py")
                spec.has_location = True
                return spec
        return None

    def create_module(self, spec):
        """An ordinary module will do."""
        return None

    def exec_module(self, module):
        """Runs the file."""
        origin = module.__spec__.origin
        exec(compile(files[origin[7:]], origin, "exec"), module.__dict__)


sys.meta_path.append(Sent())
import cellist_runner

cellist_runner.main(3, 4)
