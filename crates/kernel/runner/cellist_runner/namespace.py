"""The user's variables: the permanent ones, the history and the results."""

import builtins
import os
import types

# Results that are kept for later cells.
KEPT_RESULTS = 1000

RUNNER_NAMES = ("In", "Out", "_", "__", "___", "_i", "_ii", "_iii", "_ih", "_oh", "_dh")


class Namespace:
    """The module `__main__` of the user's code."""

    def __init__(self):
        self.main = types.ModuleType("__main__")
        self.variables = self.main.__dict__
        self.variables["__builtins__"] = builtins
        # Cells as they were written.
        self.raw_inputs = [""]
        # Names of the host's and of the user's modules, which are not shown as variables.
        self.hidden_names = set()
        self.reset()

    def reset(self):
        """Forgets all variables, but for those that a session always has."""
        variables = self.variables
        kept = {name: variables.get(name) for name in ("__name__", "__doc__", "__builtins__")}
        hidden = {name: variables[name] for name in self.hidden_names if name in variables}
        inputs = variables.get("In", [""])
        variables.clear()
        variables.update(kept)
        variables.update({"__package__": None, "__loader__": None, "__spec__": None})
        variables.update(hidden)
        variables["In"] = variables["_ih"] = inputs
        variables["Out"] = variables["_oh"] = {}
        variables["_dh"] = [os.getcwd()]
        for name in ("_", "__", "___", "_i", "_ii", "_iii"):
            variables[name] = ""
        self.unders = ["", "", ""]

    def hide_names(self):
        """All names that are there now are not the user's."""
        self.hidden_names = {name for name in self.variables if not name.startswith("__")} - set(RUNNER_NAMES)

    def remember(self, source, count):
        """Puts a cell into the history."""
        variables = self.variables
        # A cell that was cancelled before it began has a number and no source.
        self.raw_inputs += [""] * (count - len(self.raw_inputs))
        self.raw_inputs.append(source)
        inputs = variables.get("_ih")
        if not isinstance(inputs, list):
            inputs = variables["_ih"] = variables["In"] = []
        inputs += [""] * (count - len(inputs))
        earlier = inputs[-3:][::-1] + ["", "", ""]
        variables["_i"], variables["_ii"], variables["_iii"] = earlier[0], earlier[1], earlier[2]
        variables["_i%d" % count] = source
        inputs.append(source)

    def transformed(self, source, text):
        """The history keeps a cell as the Python that ran."""
        inputs = self.variables.get("_ih")
        if isinstance(inputs, list) and inputs and inputs[-1] == source:
            inputs[-1] = text.rstrip("\n")

    def keep_result(self, value, count):
        """Remembers the result of a cell."""
        variables = self.variables
        results = variables.get("_oh")
        if value is results:
            return
        names = ("_", "__", "___")
        # A name that the user has bound anew stays.
        if all(variables.get(name) is known for name, known in zip(names, self.unders) if name in variables):
            self.unders = [value] + self.unders[:2]
            for name, known in zip(names, self.unders):
                variables[name] = known
        variables["_%d" % count] = value
        if isinstance(results, dict):
            if len(results) >= KEPT_RESULTS:
                self._forget_results(results)
            results[count] = value

    def _forget_results(self, results):
        """Lets go of the oldest results, as IPython does: they may hold a lot of memory."""
        for number in sorted(results)[: KEPT_RESULTS // 5]:
            del results[number]
            self.variables.pop("_%d" % number, None)
