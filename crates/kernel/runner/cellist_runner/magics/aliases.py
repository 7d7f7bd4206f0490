"""Magics that are commands of the system under names of their own."""

import os
import sys

from ..shell import UsageError

RESERVED = ("alias", "cd", "dhist", "popd", "pushd", "unalias")


class Alias:
    """A command of the system as a magic; `%s` and `%l` in it stand for words and for the whole line."""

    __module__ = "IPython.core.alias"

    def __init__(self, shell, name, cmd):
        self.shell, self.name, self.cmd = shell, name, cmd
        self.__name__, self.__doc__ = name, "Alias for `!%s`" % cmd
        self.nargs = cmd.count("%s") - cmd.count("%%s")

    def __repr__(self):
        return "<alias %s for %r>" % (self.name, self.cmd)

    def __call__(self, rest=""):
        command = self.cmd
        if "%l" in command:
            command, rest = command.replace("%l", rest), ""
        if self.nargs <= 0:
            self.shell.system("%s %s" % (command.replace("%%s", "%s"), rest))
            return
        words = rest.split(None, self.nargs)
        if len(words) < self.nargs:
            wrong = "Alias <%s> requires %s arguments, %s given." % (self.name, self.nargs, len(words))
            raise UsageError(wrong)
        self.shell.system("%s %s" % (command % tuple(words[: self.nargs]), " ".join(words[self.nargs :])))


def default_aliases():
    """Commands that are there without being asked for."""
    colour, long = ("--color", "-o") if sys.platform.startswith("linux") else ("-G", "-l")
    aliases = [(name, name) for name in ("mkdir", "rmdir", "mv", "rm", "cp", "cat")]
    aliases += [("ls", "ls -F %s" % colour), ("ll", "ls -F %s %s" % (long, colour))]
    for name, kind in (("lf", "^-"), ("lk", "^l"), ("ldir", "/$"), ("lx", "^-..x")):
        aliases.append((name, "ls -F %s %s %%l | grep %s" % (long, colour, kind)))
    return aliases


class AliasMagics:
    """Commands of the system under names of their own."""

    def add_default_aliases(self):
        """Adds the commands that are always there; a name that is taken stays as it is."""
        for name, command in default_aliases():
            self.shell.registered["line"].setdefault(name, Alias(self.shell, name, command))

    def _define_alias(self, name, command):
        """Adds an alias; the reason where that cannot be."""
        if name in RESERVED:
            return "The name %s can't be aliased because it is a keyword or builtin." % name
        taken = self.shell.find_magic(name)
        if taken is not None and not isinstance(taken, Alias):
            return "The name %s can't be aliased because it is another magic command." % name
        if "%s" in command.replace("%%s", "") and "%l" in command:
            return "The %s and %l specifiers are mutually exclusive in alias definitions."
        self.shell.registered["line"][name] = Alias(self.shell, name, command)
        return None

    def line_alias(self, line=""):
        """Makes a command of the system a magic; without one, lists all of them."""
        name, _, command = line.strip().partition(" ")
        if not name:
            magics = self.shell.registered["line"].items()
            aliases = sorted((known, magic.cmd) for known, magic in magics if isinstance(magic, Alias))
            print("Total number of aliases:", len(aliases))
            return aliases
        if not command.strip():
            raise UsageError("%alias needs a name and a command.")
        wrong = self._define_alias(name, command.strip())
        if wrong is not None:
            print(wrong)
        return None

    def line_unalias(self, line=""):
        """Removes an alias."""
        name = line.strip()
        if isinstance(self.shell.registered["line"].get(name), Alias):
            del self.shell.registered["line"][name]
        else:
            print("%s is not an alias" % name)

    def line_rehashx(self, _line=""):
        """Makes every program on the path an alias."""
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            try:
                entries = list(os.scandir(os.path.expanduser(folder) or "."))
            except OSError:
                continue
            for entry in entries:
                name = entry.name.replace(".", "")
                if entry.is_file() and os.access(entry.path, os.X_OK) and self.shell.find_magic(name) is None:
                    self._define_alias(name, entry.name)

    def _shown(name):
        def run(self, line=""):
            self.shell.system("%s %s" % (name, line))

        run.__doc__ = "Runs `%s`." % name
        return run

    line_man, line_less, line_more = _shown("man"), _shown("less"), _shown("more")
