"""Magics about the session: its variables, its history, its errors."""

from ..base import load, state
from ..formatting import plain_text
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
        rows = []
        for name in names:
            value = self.shell.user_ns[name]
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple):
                text = "shape: %s" % (shape,)
            elif isinstance(value, (list, tuple, dict, set)):
                text = "n=%d" % len(value)
            else:
                text = plain_text(value).replace("\n", " ")
            rows.append((name, type(value).__name__, text[:60]))
        widths = [max(len(row[at]) for row in rows + [("Variable", "Type", "")]) for at in (0, 1)]
        print("%-*s   %-*s   Data/Info" % (widths[0], "Variable", widths[1], "Type"))
        print("-" * (sum(widths) + 15))
        for row in rows:
            print("%-*s   %-*s   %s" % (widths[0], row[0], widths[1], row[1], row[2]))

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
