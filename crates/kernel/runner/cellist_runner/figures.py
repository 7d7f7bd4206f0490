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


class Figures:
    """Figures of matplotlib's as images: each shown once, where the program says so or at the cell's end."""

    def __init__(self):
        self.formats = ["png"]
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
        for mime in set(mimes.values()):
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
        figure.canvas.print_figure(
            out,
            format=kind,
            facecolor=figure.get_facecolor(),
            edgecolor=figure.get_edgecolor(),
            dpi=dpi,
            bbox_inches="tight",
        )
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
                display(manager.canvas.figure)
        finally:
            if helpers.Gcf.get_all_fig_managers():
                pyplot.close("all")

    def at_end_of_cell(self):
        """Shows the figures that the cell left open."""
        drawn, self.drawn = self.drawn, False
        matplotlib = sys.modules.get("matplotlib")
        if drawn and matplotlib is not None and "matplotlib.pyplot" in sys.modules and "cellist_figures" in sys.modules:
            if matplotlib.get_backend() == BACKEND:
                self.show()


figures = Figures()


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
