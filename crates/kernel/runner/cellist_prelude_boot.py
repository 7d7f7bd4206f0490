# Puts the names of the helpers among the builtins. Their code is read when the first of them is used, so that a
# kernel that never does starts as fast as without them. `source` and `given` are there already.
import builtins
import sys


class Helper:
    def __init__(self, name):
        self.__name__ = name

    def __call__(self, *words, **keys):
        return self._cellist()(*words, **keys)

    def __getattr__(self, name):
        # `__wrapped__` and its like are looked for by programs that list variables, and are no use of a helper.
        if name.startswith("__") and name != "__doc__":
            raise AttributeError(name)
        return getattr(self._cellist(), name)

    def __repr__(self):
        return self._cellist().__doc__.splitlines()[0]

    def _cellist(self):
        module = sys.modules.get("cellist_prelude")
        if module is None:
            module = type(sys)("cellist_prelude")
            exec(compile(source, "<cellist helpers>", "exec"), module.__dict__)
            module.GIVEN.update(given)
            sys.modules["cellist_prelude"] = module
        return getattr(module, self.__name__)


for name in given["names"]:
    if not hasattr(builtins, name):
        setattr(builtins, name, Helper(name))
