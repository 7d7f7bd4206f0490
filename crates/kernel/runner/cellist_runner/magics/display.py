"""Magics that show a cell as something else than code."""

from ..base import library
from ..display import display


class DisplayMagics:
    """Showing a cell as something else than code."""

    def _display_as(self, mime, cell):
        kind = {"text/html": "HTML", "text/markdown": "Markdown", "text/latex": "Latex"}.get(mime)
        kind = kind or {"image/svg+xml": "SVG", "application/javascript": "Javascript"}[mime]
        display(getattr(library("importlib").import_module("IPython.display"), kind)(cell))

    def cell_html(self, _line, cell):
        """Displays the cell as HTML."""
        self._display_as("text/html", cell)

    cell_HTML = cell_html

    def cell_markdown(self, _line, cell):
        """Displays the cell as Markdown."""
        self._display_as("text/markdown", cell)

    def cell_latex(self, _line, cell):
        """Displays the cell as LaTeX."""
        self._display_as("text/latex", cell)

    def cell_svg(self, _line, cell):
        """Displays the cell as SVG."""
        self._display_as("image/svg+xml", cell)

    cell_SVG = cell_svg

    def cell_javascript(self, _line, cell):
        """Displays the cell as JavaScript."""
        self._display_as("application/javascript", cell)

    cell_js = cell_javascript
