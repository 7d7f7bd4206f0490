"""Figures of matplotlib's, as images."""

import io
import sys

from .base import library, state
from .display import display

BACKEND = "module://cellist_figures"
# The targets of matplotlib: an interactive window or page, or a file.
WINDOWS = frozenset(
    "auto gtk gtk3 gtk3agg gtk3cairo gtk4 gtk4agg gtk4cairo ipympl macosx nbagg notebook osx qt qt4 qt5 qt5agg "
    "qt5cairo qt6 qtagg qtcairo tk tkagg tkcairo webagg widget wx wxagg wxcairo".split()
)
DRAWN = frozenset("agg cairo pdf pgf ps svg template".split())

# Settings of IPython's for figures: `%config InlineBackend.NAME = value`.
SETTINGS = ("close_figures", "figure_format", "figure_formats", "print_figure_kwargs", "rc")


class Figures:
    """Figures of matplotlib's as images: each shown once, where the program says so or at the cell's end."""

    def __init__(self):
        self.formats = ["png"]
        # Further arguments of matplotlib's function that makes the image.
        self.arguments = {"bbox_inches": "tight"}
        # Whether figures are closed when they were shown.
        self.closes = True
        self.rc = {}
        # Whether the cell made or changed a figure while matplotlib was to show it without being asked.
        self.drawn = False
        # Whether `%matplotlib inline` was said.
        self.wanted = False

    def take_over(self):
        """Makes matplotlib show its figures here, from now on and without being asked."""
        matplotlib = sys.modules["matplotlib"]
        matplotlib.use(BACKEND)
        library("importlib").import_module("cellist_figures")
        matplotlib.interactive(True)

    def setting(self, name):
        """The value of a setting, as IPython has it."""
        known = {"close_figures": self.closes, "print_figure_kwargs": self.arguments, "rc": self.rc}
        known["figure_formats"], known["figure_format"] = set(self.formats), self.formats[0]
        return known[name]

    def set(self, name, value):
        """Changes a setting; there is no harm in one that is not known."""
        if name in ("figure_format", "figure_formats"):
            self.choose([value] if isinstance(value, str) else list(value))
        elif name == "print_figure_kwargs":
            self.arguments = dict(value)
        elif name == "close_figures":
            self.closes = bool(value)
        elif name == "rc":
            self.rc = dict(value)
            library("importlib").import_module("matplotlib").rcParams.update(value)

    def choose(self, formats):
        """Which images are made: `png`, `retina`, `svg`, `jpeg`, `pdf`."""
        names = [name for item in formats for name in ([item] if isinstance(item, str) else item)]
        known = {"png", "retina", "png2x", "svg", "jpeg", "jpg", "pdf"}
        bad = [name for name in names if name not in known]
        if bad:
            raise ValueError("supported formats are: %s not %s" % (sorted(known), bad))
        self.formats = names
        self.register()

    def register(self):
        """Tells the formatters how a figure looks."""
        formatters = state.runner.shell.display_formatter.formatters
        mimes = {
            "png": "image/png",
            "retina": "image/png",
            "png2x": "image/png",
            "svg": "image/svg+xml",
            "jpeg": "image/jpeg",
            "jpg": "image/jpeg",
            "pdf": "application/pdf",
        }
        kind = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
        for mime in set(mimes.values()):
            formatters[mime].pop(kind, None)
            formatters[mime].deferred_printers.pop(("matplotlib.figure", "Figure"), None)
        for name in self.formats:
            formatters[mimes[name]].for_type_by_name(
                "matplotlib.figure", "Figure", lambda figure, name=name: self.image(figure, name)
            )

    def image(self, figure, name):
        """One figure as an image, cut to its content; nothing for an empty one."""
        if not figure.axes and not figure.lines:
            return None
        retina = name in ("retina", "png2x")
        dpi = figure.dpi * 2 if retina else figure.dpi
        kind = "png" if retina else name
        out = io.BytesIO()
        if figure.canvas is None:
            sys.modules["matplotlib.backend_bases"].FigureCanvasBase(figure)
        arguments = {
            "format": kind,
            "facecolor": figure.get_facecolor(),
            "edgecolor": figure.get_edgecolor(),
            "dpi": dpi,
            "bbox_inches": "tight",
        }
        arguments.update(self.arguments)
        figure.canvas.print_figure(out, **arguments)
        data = out.getvalue()
        if kind == "svg":
            return data.decode("utf-8")
        if retina:
            width, height = (int.from_bytes(data[at : at + 4], "big") // 2 for at in (16, 20))
            return data, {"width": width, "height": height}
        return data

    def show(self, *_arguments, **_keys):
        """Shows all figures that are open, and closes them: the `plt.show()` of the runner."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if pyplot is None or helpers is None:
            return
        try:
            for manager in helpers.Gcf.get_all_fig_managers():
                self._show_one(manager.canvas.figure)
        finally:
            if self.closes and helpers.Gcf.get_all_fig_managers():
                pyplot.close("all")

    def show_changed(self):
        """Shows the figures that changed since they were last shown; none is closed."""
        for manager in sys.modules["matplotlib._pylab_helpers"].Gcf.get_all_fig_managers():
            if manager.canvas.figure.stale:
                self._show_one(manager.canvas.figure)

    def _show_one(self, figure):
        display(figure)
        # Making the image changed its size for a moment.
        figure.stale = False

    def at_end_of_cell(self):
        """Shows the figures that the cell left open."""
        drawn, self.drawn = self.drawn, False
        matplotlib = sys.modules.get("matplotlib")
        drawn = drawn or not self.closes
        if (
            drawn
            and matplotlib is not None
            and "matplotlib.pyplot" in sys.modules
            and "cellist_figures" in sys.modules
        ):
            if matplotlib.get_backend() == BACKEND:
                self.show() if self.closes else self.show_changed()


figures = Figures()


def figsize(sizex, sizey):
    """Sets the size of figures, in inches."""
    library("importlib").import_module("matplotlib").rcParams["figure.figsize"] = [sizex, sizey]


def getfigs(*numbers):
    """The figures that are open, all or those with some numbers."""
    managers = sys.modules["matplotlib._pylab_helpers"].Gcf.get_all_fig_managers()
    return [manager.canvas.figure for manager in managers if not numbers or manager.num in numbers]


def import_pylab(variables, everything):
    """Imports numpy and matplotlib into variables; returns the names of those that had other values."""
    made = {}
    exec(
        "import numpy, matplotlib\nfrom matplotlib import pylab, mlab, pyplot\nnp, plt = numpy, pyplot", made
    )
    if everything:
        exec("from matplotlib.pylab import *\nfrom numpy import *", made)
    made.update(figsize=figsize, getfigs=getfigs, display=display)
    del made["__builtins__"]
    clobbered = [name for name, value in made.items() if name in variables and variables[name] is not value]
    variables.update(made)
    state.runner.namespace.hidden_names.update(made)
    return clobbered


def fill(module):
    """Makes the backend that matplotlib draws with."""
    import matplotlib
    from matplotlib.backend_bases import FigureManagerBase
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def new_figure_manager(num, *arguments, **keys):
        from matplotlib.figure import Figure

        figure_class = keys.pop("FigureClass", Figure)
        return new_figure_manager_given_figure(num, figure_class(*arguments, **keys))

    def new_figure_manager_given_figure(num, figure):
        figures.drawn = figures.drawn or matplotlib.is_interactive()
        return FigureManagerBase(FigureCanvasAgg(figure), num)

    module.FigureCanvas = FigureCanvasAgg
    module.FigureManager = FigureManagerBase
    module.new_figure_manager = new_figure_manager
    module.new_figure_manager_given_figure = new_figure_manager_given_figure
    module.draw_if_interactive = lambda: None
    module.show = figures.show
    matplotlib.interactive(True)
    figures.register()
