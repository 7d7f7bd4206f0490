"""How values look, by the same rules as IPython's."""

import sys

from .base import load, state
from .jsontext import base64_text

# In the order in which Jupyter's own kernel lists them, behind text/plain.
REPRESENTATIONS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("application/pdf", "_repr_pdf_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
)
PLAIN_TYPES = frozenset(
    (
        int,
        float,
        complex,
        bool,
        str,
        bytes,
        bytearray,
        list,
        tuple,
        dict,
        set,
        frozenset,
        range,
        slice,
        type(None),
    )
)
SCALARS = PLAIN_TYPES - {list, tuple, dict, set, frozenset}
SEQUENCES = frozenset((list, tuple, dict))
# Containers of more items do not fit into a line.
SHORT, LINE = 40, 79
# Representations that are bytes, and travel as base64.
BINARY = ("image/png", "image/jpeg", "application/pdf")


class Formatter:
    """How values of registered types look in one representation."""

    def __init__(self, mime):
        self.format_type = mime
        self.enabled = True
        # How numbers look in text; chosen by `%precision`.
        self.float_format = "%r"
        self.type_printers = {}
        self.deferred_printers = {}
        # How text is laid out.
        self.pprint = True
        self.verbose = False
        self.max_width = 79
        self.newline = "\n"
        self.max_seq_length = 1000

    def is_plain(self):
        """Whether no option of text is changed."""
        return not (self.type_printers or self.deferred_printers or self.verbose) and (
            self.pprint,
            self.float_format,
            self.max_width,
            self.newline,
            self.max_seq_length,
        ) == (True, "%r", 79, "\n", 1000)

    def for_type(self, kind, function=None):
        """Registers a function for a type, or for the name of one; returns the previous one."""
        if isinstance(kind, str):
            module, _, name = kind.rpartition(".")
            return self.for_type_by_name(module, name, function)
        before = self.type_printers.get(kind)
        if function is not None:
            self.type_printers[kind] = function
        return before

    def for_type_by_name(self, module, name, function=None):
        """Registers a function for a type that need not be imported yet."""
        before = self.deferred_printers.get((module, name))
        if function is not None:
            self.deferred_printers[(module, name)] = function
        return before

    def pop(self, kind, default=None):
        """Forgets a type."""
        name = (getattr(kind, "__module__", None), getattr(kind, "__name__", None))
        return self.type_printers.pop(kind, self.deferred_printers.pop(name, default))

    def lookup_by_type(self, kind):
        """The function for a type or one of its bases; none where nothing is registered."""
        if not self.type_printers and not self.deferred_printers:
            return None
        for base in getattr(kind, "__mro__", (kind,)):
            function = self.type_printers.get(base)
            if function is None and self.deferred_printers:
                function = self.deferred_printers.get((base.__module__, base.__name__))
            if function is not None:
                return function
        return None

    def lookup(self, value):
        """The function for a value."""
        return self.lookup_by_type(type(value))


class DisplayFormatter:
    """Every representation of a value, by the same rules as IPython's."""

    def __init__(self):
        names = ["text/plain"] + [mime for mime, _ in REPRESENTATIONS]
        self.formatters = {mime: Formatter(mime) for mime in names}
        self.ipython_display_formatter = Formatter("ipython_display")
        self.mimebundle_formatter = Formatter("mimebundle")
        self.active_types = list(names)

    @property
    def format_types(self):
        """Every representation there is."""
        return list(self.formatters)

    def format(self, value, include=None, exclude=None):
        """Representations and their metadata. Nothing, where the value displayed itself."""
        if type(value) in PLAIN_TYPES and include is None and exclude is None:
            if not any(formatter.type_printers for formatter in self.formatters.values()):
                return self._plain(value)
        own = self._method(self.ipython_display_formatter, value, "_ipython_display_")
        if own is not None and self._try(own)[1]:
            return {}, {}
        data, metadata = {}, {}
        method = self._method(self.mimebundle_formatter, value, "_repr_mimebundle_")
        if method is not None:
            made, _ = self._try(lambda: method(include=include, exclude=exclude))
            if isinstance(made, tuple):
                made, made_metadata = made
                metadata.update(made_metadata or {})
            data.update(made or {})
        if "text/plain" not in data:
            data.update(self._plain(value)[0])
        for mime, name in REPRESENTATIONS:
            if mime in data:
                continue
            method = self._method(self.formatters[mime], value, name)
            if method is None:
                continue
            made, _ = self._try(method)
            if isinstance(made, tuple) and len(made) == 2:
                made, metadata[mime] = made
            if made is not None:
                data[mime] = made
        for mime, content in data.items():
            if isinstance(content, (bytes, bytearray)):
                data[mime] = base64_text(content) if mime in BINARY else content.decode("utf-8", "replace")
        if include:
            data = {mime: content for mime, content in data.items() if mime in include}
        if exclude:
            data = {mime: content for mime, content in data.items() if mime not in exclude}
        return data, metadata

    def _method(self, formatter, value, name):
        """The registered function for a value's type, or the value's own method."""
        printer = formatter.lookup(value)
        if printer is None:
            return representation_method(value, name)
        return lambda **keys: printer(value, **keys)

    def _plain(self, value):
        text, ok = self._try(lambda: plain_text(value, self.formatters["text/plain"]))
        return ({"text/plain": text} if ok else {}), {}

    def _try(self, method):
        """Calls a method of the user's. Its exception is shown, and does not stop the cell."""
        try:
            return method(), True
        except NotImplementedError:
            return None, False
        except Exception as error:
            state.runner.show_error(error)
            return None, False


def representation_method(value, name):
    """A method of a value's own; none for classes, and for objects that answer to any name."""
    if isinstance(value, type):
        return None
    try:
        if getattr(value, "_ipython_canary_method_should_not_exist_", None) is not None:
            return None
        method = getattr(value, name, None)
    except Exception:
        return None
    return method if callable(method) else None


def plain_text(value, formatter=None):
    """The text of a value, by IPython's rules; short values do not need the part that breaks lines."""
    if formatter is None or formatter.is_plain():
        kind = type(value)
        if kind in SCALARS:
            return repr(value)
        if kind in SEQUENCES and len(value) <= SHORT and is_simple(value, 4):
            text = repr(value)
            if len(text) <= LINE:
                return text
        return load("pretty").pretty(value)
    if not formatter.pprint:
        return repr(value)
    printers = dict(formatter.type_printers)
    if formatter.float_format != "%r":
        number = formatter.float_format
        for kind in [float] + [getattr(module, "float64") for module in loaded("numpy")]:
            printers.setdefault(kind, lambda value, printer, _cycle: printer.text(number % value))
    return load("pretty").pretty(
        value,
        formatter.verbose,
        formatter.max_width,
        formatter.newline,
        formatter.max_seq_length,
        type_pprinters=printers,
        deferred_pprinters=formatter.deferred_printers,
    )


def is_simple(value, depth):
    """Whether a value looks the same however it is printed, as long as it fits into a line."""
    kind = type(value)
    if kind in SCALARS:
        return True
    if kind not in SEQUENCES or not depth or len(value) > SHORT:
        return False
    if kind is dict:
        return all(is_simple(part, depth - 1) for item in value.items() for part in item)
    return all(is_simple(part, depth - 1) for part in value)


def loaded(name):
    """The module of that name, if it is whole."""
    module = sys.modules.get(name)
    return [module] if module is not None and hasattr(module, "float64") else []
