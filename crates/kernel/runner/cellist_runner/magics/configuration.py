"""`%config`: settings by the names of the classes that have them in IPython."""

import re

from ..base import load
from ..shell import INTERACTIVITIES, XMODES, UsageError

SHELL_NAMES = ("InteractiveShell", "ZMQInteractiveShell", "TerminalInteractiveShell")
# Classes whose settings are listed.
KNOWN = ("InlineBackend", "ZMQInteractiveShell")
# Settings of the shell that have an effect here.
SHELL_SETTINGS = ("ast_node_interactivity", "automagic", "xmode", "autoawait", "colors")


class ConfigurationMagics:
    """Settings by the names of the classes that have them in IPython."""

    def line_config(self, line=""):
        """Shows or sets a setting: `%config Class.name` or `%config Class.name = value`."""
        line = line.strip()
        if not line:
            print("Available objects for config:")
            for name in KNOWN:
                print("    %s" % name)
            return None
        if line in KNOWN:
            for name in self._names_of(line):
                print("%s.%s = %r" % (line, name, self._setting(line, name)))
            return None
        found = re.match(r"(\w+)\.(\w+)$", line)
        if found is not None:
            return self._setting(*found.groups())
        found = re.match(r"(\w+)\.(\w+)\s*=(?!=)\s*(.+)", line, re.S)
        if found is None:
            text = "Invalid config statement: %r, should be `Class.trait = value`." % line
            near = [name for name in KNOWN if name.lower() == line.lower()]
            raise UsageError(text + "".join("\nDid you mean %s (note the case)?" % name for name in near))
        kind, name, value = found.groups()
        self._set(kind, name, eval(value, self.shell.user_ns))
        return None

    def _names_of(self, kind):
        if kind == "InlineBackend":
            return load("figures").SETTINGS
        return SHELL_SETTINGS

    def _setting(self, kind, name):
        if kind == "InlineBackend" and name in load("figures").SETTINGS:
            return load("figures").figures.setting(name)
        if kind in SHELL_NAMES and name == "ast_node_interactivity":
            return self.shell.interactivity()
        if kind in SHELL_NAMES:
            return getattr(self.shell, name)
        if name in self.shell.config.get(kind, ()):
            return self.shell.config[kind][name]
        full = load("ipython_shell").installed_shell(self.shell)
        if full is None:
            raise UsageError("there is no setting %s.%s" % (kind, name))
        return full.run_line_magic("config", "%s.%s" % (kind, name))

    def _set(self, kind, name, value):
        if kind == "InlineBackend":
            load("figures").figures.set(name, value)
        elif kind in SHELL_NAMES and name == "xmode" and value.capitalize() in XMODES:
            self.shell.xmode = value.capitalize()
        elif kind in SHELL_NAMES and name == "ast_node_interactivity" and value not in INTERACTIVITIES:
            allowed = ", ".join(map(repr, INTERACTIVITIES))
            raise UsageError("%s.%s must be one of %s, not %r" % (kind, name, allowed, value))
        elif kind in SHELL_NAMES and name in SHELL_SETTINGS:
            setattr(self.shell, name, value)
        else:
            # It has nothing to set here, and is kept for programs that ask for it.
            self.shell.config.setdefault(kind, type(self.shell.config)())[name] = value
