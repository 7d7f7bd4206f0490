"""Magics for commands, folders, files and the environment."""

import os
import re
import sys

from ..base import library, load
from ..hooks import find_spec
from ..shell import UsageError, not_supported


class SystemMagics:
    """Commands, folders, files and the environment."""

    def line_pip(self, line):
        """Runs pip for this Python."""
        if find_spec("pip", None, None) is None:
            raise UsageError("pip is not installed for %s. %s" % (sys.executable, how_to_get_pip()))
        self.shell.system("%s -m pip %s" % (quoted(sys.executable), line))
        library("importlib").invalidate_caches()
        print("Note: you may need to restart the kernel to use updated packages.")

    def line_conda(self, line):
        """Runs conda for the environment of this Python."""
        words = [quoted(os.environ.get("CONDA_EXE") or "conda"), line]
        if line.split()[:1] and line.split()[0] in ("install", "update", "remove", "uninstall"):
            if "-p" not in line.split():
                words += ["--prefix", quoted(sys.prefix), "--yes"]
        self.shell.system(" ".join(words))
        library("importlib").invalidate_caches()

    def line_uv(self, line):
        """Runs uv."""
        self.shell.system("uv " + line)
        library("importlib").invalidate_caches()

    def line_cd(self, line):
        """Changes the working folder."""
        quiet = line.startswith("-q")
        folder = (line[2:] if quiet else line).strip().strip("'\"")
        visited = self.shell.user_ns["_dh"]
        if folder == "-":
            if len(visited) < 2:
                raise UsageError("%cd -: No previous directory to change to.")
            folder = visited[-2]
        try:
            os.chdir(os.path.expanduser(folder or "~"))
        except OSError as error:
            print(error)
        else:
            if not visited or visited[-1] != os.getcwd():
                visited.append(os.getcwd())
        if not quiet:
            print(os.getcwd())

    def line_pwd(self, _line=""):
        """The working folder."""
        return os.getcwd()

    def line_env(self, line):
        """Shows or sets environment variables."""
        if not line.strip():
            return dict(os.environ)
        sign = "=" if "=" in line else " "
        name, found, value = line.partition(sign)
        name = name.strip()
        if found:
            return self.line_set_env(line)
        if name not in os.environ:
            raise UsageError("Environment does not have key: %s" % name)
        return os.environ[name]

    def line_set_env(self, line):
        """Sets an environment variable."""
        name, _, value = line.partition("=" if "=" in line else " ")
        name, value = name.strip(), value.strip()
        if not name or not line.strip() or re.search(r"\s", name):
            raise UsageError("refusing to set env var %r" % name)
        os.environ[name] = value
        print("env: %s=%s" % (name, value))

    def line_sx(self, line):
        """The lines that a command prints."""
        return self.shell.getoutput(line)

    line_system = line_sx

    def cell_script(self, line, cell):
        """Runs the cell with a program; `--out` and `--err` name variables for its output."""
        names, command, raises = [None, None], [], True
        words = iter(library("shlex").split(line))
        for word in words:
            option, _, value = word.partition("=")
            if option in ("--out", "--err"):
                names[option == "--err"] = value or next(words, None)
            elif option in ("--no-raise-error", "--raise-error"):
                raises = option == "--raise-error"
            elif option in ("--bg", "--proc"):
                raise not_supported("%%%%script %s" % option)
            else:
                command.append(word)
        if not command:
            raise UsageError("%%script needs the name of a program.")
        try:
            code, written = load("commands").run(
                command, cell.encode("utf-8"), [name is not None for name in names]
            )
        except FileNotFoundError:
            print("Couldn't find program: %r" % command[0])
            return
        for name, text in zip(names, written):
            if name is not None:
                self.shell.user_ns[name] = text
        if code and raises:
            raise library("subprocess").CalledProcessError(code, cell.encode("utf-8"))

    def cell_bash(self, line, cell):
        """Runs the cell with bash."""
        self.cell_script("bash " + line, cell)

    def cell_sh(self, line, cell):
        """Runs the cell with sh."""
        self.cell_script("sh " + line, cell)

    def cell_python(self, line, cell):
        """Runs the cell with a new Python."""
        self.cell_script("%s %s" % (quoted(sys.executable), line), cell)

    cell_python3 = cell_python

    def cell_perl(self, line, cell):
        """Runs the cell with perl."""
        self.cell_script("perl " + line, cell)

    def cell_ruby(self, line, cell):
        """Runs the cell with ruby."""
        self.cell_script("ruby " + line, cell)

    def cell_system(self, line, cell):
        """Runs the cell with the system's shell and returns the lines that it printed."""
        return self.shell.getoutput(line + "\n" + cell if line else cell)

    cell_sx = cell_system
    locals()["cell_!"] = cell_system

    def cell_writefile(self, line, cell):
        """Writes the cell into a file."""
        words = library("shlex").split(line)
        append = "-a" in words or "--append" in words
        names = [word for word in words if word not in ("-a", "--append")]
        if len(names) != 1:
            raise UsageError("%%writefile needs the name of one file.")
        path = os.path.expanduser(names[0])
        exists = os.path.exists(path)
        print(
            "%s %s" % ("Appending to" if exists and append else "Overwriting" if exists else "Writing", path)
        )
        with open(path, "a" if append else "w", encoding="utf-8") as file:
            file.write(cell)

    cell_file = cell_writefile


def how_to_get_pip():
    """The advice where pip is missing."""
    python = quoted(sys.executable)
    return "Run `%s -m ensurepip --upgrade`, or use `uv pip install --python %s NAME`." % (python, python)


def quoted(path):
    """A path for a command line."""
    return library("shlex").quote(path or "python3")
