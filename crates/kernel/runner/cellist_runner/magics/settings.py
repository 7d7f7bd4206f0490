"""Magics that choose how things are done and shown, and extensions."""

import sys

from ..base import library, load
from ..display import publish_display_data
from ..shell import UsageError, not_supported, warn


def _not_supported(name):
    def run(self, line="", cell=None):
        raise not_supported("%" + name)

    run.__doc__ = "Not supported here."
    return run


class SettingsMagics:
    """How things are done and shown, and extensions."""

    def line_load_ext(self, line, again=False):
        """Loads an extension of IPython's."""
        name = line.strip()
        if not name:
            raise UsageError("Missing module name.")
        if name == "autoreload":
            self.shell.reloads = self.shell.reloads or load("reloading").Reloads()
        elif name in self.extensions and not again:
            print("The %s extension is already loaded. To reload it, use:\n  %%reload_ext %s" % (name, name))
        else:
            module = self._extension(name)
            if not hasattr(module, "load_ipython_extension"):
                print("The %s module is not an IPython extension." % name)
                return
            module.load_ipython_extension(self.shell)
            self.extensions[name] = module

    def _extension(self, name):
        """The module of an extension, which may be one that comes with IPython."""
        find = library("importlib").import_module
        try:
            return find(name)
        except ModuleNotFoundError:
            if name != "storemagic":
                raise
            return find("IPython.extensions." + name)

    def line_reload_ext(self, line):
        """Loads an extension again, with its file as it is now."""
        name = line.strip()
        if name in self.extensions:
            self.line_unload_ext(name)
            library("importlib").reload(sys.modules[name])
        self.line_load_ext(name, True)

    def line_unload_ext(self, line):
        """Takes an extension away, where it can be."""
        module = self.extensions.pop(line.strip(), None)
        if module is None:
            print("The %s extension is not loaded." % line.strip())
        elif hasattr(module, "unload_ipython_extension"):
            module.unload_ipython_extension(self.shell)
        else:
            print("The %s extension doesn't define how to unload it." % line.strip())

    def line_autoreload(self, line):
        """Reloads modules whose files have changed: `0` never, `1` or `2` before each cell, nothing: now."""
        self.shell.reloads = self.shell.reloads or load("reloading").Reloads()
        mode = line.strip().lower()
        if mode in ("", "now"):
            self.shell.reloads.run()
        else:
            self.shell.reloads.on = mode not in ("0", "off")

    def line_matplotlib(self, line):
        """Figures are shown in any case, as images."""
        if "--list" in line or "-l" in line.split():
            print("Available matplotlib backends: ['inline']")
            return
        name = line.strip().strip("'\"")
        if name in ("", "inline"):
            load("figures").figures.wanted = True
            if "matplotlib.pyplot" in sys.modules:
                load("figures").figures.take_over()
        elif name.lower() in load("figures").WINDOWS:
            print(
                "%%matplotlib %s is not supported by the runner, which shows figures as images: "
                "use `--backend jupyter`." % name,
                file=sys.stderr,
            )
        elif name.lower() in load("figures").DRAWN or name.startswith("module://"):
            library("importlib").import_module("matplotlib").use(name)
        else:
            raise RuntimeError("%r is not a recognised GUI loop or backend name" % name)

    def line_pylab(self, line=""):
        """Imports numpy and matplotlib, and all of their names unless told otherwise."""
        words = [word for word in line.split() if word != "--no-import-all"]
        self.line_matplotlib(" ".join(words) or "inline")
        clobbered = load("figures").import_pylab(self.shell.user_ns, "--no-import-all" not in line.split())
        print("%pylab is deprecated, use %matplotlib inline and import the required libraries.")
        print("Populating the interactive namespace from numpy and matplotlib")
        if clobbered:
            text = "pylab import has clobbered these variables: %s" % clobbered
            warn(text + "\n`%matplotlib` prevents importing * from pylab and numpy")

    def _nothing(self, _line=""):
        return None

    # There are no colours.
    line_colors = _nothing

    def line_precision(self, line=""):
        """How many digits of a number are shown, or in which format."""
        line, digits = line.strip(), None
        try:
            if "%" in line:
                line % 3.14159
            elif line:
                digits = int(line)
        except Exception:
            raise ValueError("Precision must be int or format string, not %r" % line) from None
        if digits is not None and digits < 0:
            raise ValueError("int precision must be non-negative, not %r" % digits)
        if "numpy" in sys.modules and "%" not in line:
            sys.modules["numpy"].set_printoptions(precision=8 if digits is None else digits)
        made = line or "%r" if digits is None else "%%.%df" % digits
        self.shell.display_formatter.formatters["text/plain"].float_format = made
        return made

    def line_pprint(self, _line=""):
        """Whether values are printed in the long form that is easy to read."""
        formatter = self.shell.display_formatter.formatters["text/plain"]
        formatter.pprint = not getattr(formatter, "pprint", True)
        print("Pretty printing has been turned", "ON" if formatter.pprint else "OFF")

    def line_automagic(self, line=""):
        """Whether magics are found without their percent sign."""
        choice = line.strip().lower()
        self.shell.automagic = choice in ("on", "1", "true") if choice else not self.shell.automagic
        state = "ON, % prefix IS NOT" if self.shell.automagic else "OFF, % prefix IS"
        print("\nAutomagic is %s needed for line magics." % state)

    def line_autosave(self, line):
        """Tells the front end how often to save the notebook."""
        try:
            seconds = int(line)
        except ValueError:
            raise UsageError("%%autosave requires an integer, got %r" % line) from None
        code = "IPython.notebook.set_autosave_interval(%d)" % (seconds * 1000)
        publish_display_data({"application/javascript": code})
        print("Autosaving every %i seconds" % seconds if seconds else "Autosave disabled")

    def line_gui(self, line=""):
        """There is no screen to draw on."""
        if line.strip():
            raise not_supported("%%gui %s" % line.strip())

    def line_autoawait(self, line=""):
        """`await` works in a cell as it is."""
        if line.strip().lower() not in ("", "on", "true", "asyncio"):
            raise not_supported("%%autoawait %s" % line.strip())
        if not line.strip():
            print("IPython autoawait is `on`, and set to use `asyncio`")

    line_doctest_mode, line_autocall = _not_supported("doctest_mode"), _not_supported("autocall")
    line_logstart, line_logstop = _not_supported("logstart"), _not_supported("logstop")
