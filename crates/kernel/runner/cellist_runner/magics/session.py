"""Magics about the session: its variables, its history, its errors."""

from ..base import load, state
from ..namespace import RUNNER_NAMES
from ..shell import UsageError


class SessionMagics:
    """The variables of the session, its history and its errors."""

    def _names(self, kinds):
        kinds = kinds.split()
        return sorted(
            name
            for name, value in self.shell.user_ns.items()
            if not name.startswith("_")
            and name not in RUNNER_NAMES
            and name not in state.runner.namespace.hidden_names
            and (not kinds or type(value).__name__ in kinds)
        )

    def _has_names(self, names, kinds):
        if not names:
            print("No variables match your requested type." if kinds else "Interactive namespace is empty.")
        return bool(names)

    def line_who(self, line=""):
        """Prints the names of variables, of all or of the given types."""
        names = self._names(line)
        if not self._has_names(names, line):
            return
        for at in range(0, len(names), 9):
            print("".join(name + "\t " for name in names[at : at + 9]))

    def line_who_ls(self, line=""):
        """The names of variables, of all or of the given types."""
        return self._names(line)

    def line_whos(self, line=""):
        """Prints variables with their types and values, all or those of the given types."""
        names = self._names(line)
        if not self._has_names(names, line):
            return
        rows = [(name, type(self.shell.user_ns[name]).__name__) for name in names]
        widths = [max(len(row[at]) for row in rows + [("Variable", "Type")]) + 3 for at in (0, 1)]
        print("%-*s%-*s Data/Info" % (widths[0], "Variable", widths[1], "Type"))
        print("-" * (sum(widths) + len("Data/Info") + 1))
        for name, kind in rows:
            print("%-*s%-*s %s" % (widths[0], name, widths[1], kind, summary(self.shell.user_ns[name])))

    def line_lsmagic(self, _line=""):
        """Lists the magics."""
        lines, cells = self.names("line"), self.names("cell")
        return "Available line magics:\n%s\n\nAvailable cell magics:\n%s\n\nAutomagic is %s needed." % (
            "  ".join("%" + name for name in lines),
            "  ".join("%%" + name for name in cells),
            "ON, % prefix IS NOT" if self.shell.automagic else "OFF, % prefix IS",
        )

    def line_reset(self, line=""):
        """Forgets all variables."""
        if "-f" not in line.split():
            raise UsageError("%reset forgets all variables: use `%reset -f` if you mean it.")
        state.runner.namespace.reset()

    def line_xdel(self, line):
        """Forgets a variable."""
        self.shell.user_ns.pop(line.strip(), None)

    def line_pinfo(self, line, detail=False):
        """Prints the documentation of a name."""
        text = load("inspection").describe_name(line.strip(), self.shell.user_ns, detail)
        print(text if text is not None else "Object `%s` not found." % line.strip())

    def line_pinfo2(self, line):
        """Prints the documentation of a name, with its source."""
        self.line_pinfo(line, True)

    line_psource = line_pinfo2
    line_pdoc = line_pdef = line_pfile = line_pinfo

    def line_alias_magic(self, line):
        """Another name for a magic."""
        words = [word.lstrip("%") for word in line.split() if not word.startswith("-")]
        for kind in ("line", "cell"):
            function = self.shell.find_magic(words[1], kind) if len(words) > 1 else None
            if function is not None:
                self.shell.registered[kind][words[0]] = function
                sign = "%" if kind == "line" else "%%"
                print("Created `%s%s` as an alias for `%s%s`." % (sign, words[0], sign, words[1]))


def summary(value):
    """The content of a variable in one line."""
    if type(value) in (dict, list, tuple):
        return "n=%d" % len(value)
    if type(value).__name__ == "ndarray" and hasattr(value, "itemsize"):
        size = value.size * value.itemsize
        shape = str(value.shape).replace(",", "").replace(" ", "x")[1:-1]
        text = "%s: %s elems, type `%s`, %s bytes" % (shape, value.size, value.dtype, size)
        if size < 100000:
            return text
        return text + (" (%s Mb)" % (size / 1048576) if size >= 1048576 else " (%s kb)" % (size / 1024))
    if type(value).__name__ in ("DataFrame", "Series") and hasattr(value, "shape"):
        return "Shape: %s" % (value.shape,)
    try:
        text = str(value)
    except Exception:
        text = "<object with id %d (str() failed)>" % id(value)
    text = text.replace("\n", "\\n")
    return text if len(text) < 50 else text[:25] + "<...>" + text[-25:]
