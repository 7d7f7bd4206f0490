"""How values look, by the same rules as IPython's."""

import re
import types

from .base import library, state
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


BUILTIN_MODULES = (None, "builtins", "exceptions")


def plain_text(value, formatter=None):
    """The text of a value: its repr, but for a few types of which IPython makes something more readable."""
    kind = type(value)
    printer = formatter.lookup(value) if formatter is not None else None
    if kind in PLAIN_TYPES and printer is None:
        number = formatter.float_format if formatter is not None else "%r"
        return repr(value) if number == "%r" else rounded(value, number)
    own = getattr(kind, "_repr_pretty_", None)
    if printer is not None or (own is not None and not isinstance(value, type)):
        pretty = PlainPrinter()
        if printer is not None:
            made = printer(value, pretty, False)
        else:
            made = own(value, pretty, False)
        return "".join(pretty.pieces) or (made if isinstance(made, str) else repr(value))
    if isinstance(value, type):
        if kind.__repr__ is type.__repr__:
            return qualified(value.__module__, value.__qualname__)
    elif isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
        name = qualified(value.__module__, value.__qualname__)
        try:
            name += str(library("inspect").signature(value))
        except (ValueError, TypeError):
            pass
        return "<function %s>" % name
    elif isinstance(value, BaseException):
        if kind.__repr__ is BaseException.__repr__:
            return (
                qualified(kind.__module__, kind.__qualname__) + "(" + ", ".join(map(repr, value.args)) + ")"
            )
    elif isinstance(value, re.Pattern):
        return pattern_text(value)
    elif kind.__repr__ is object.__repr__:
        return "<%s at 0x%x>" % (qualified(kind.__module__, kind.__qualname__), id(value))
    return repr(value)


def rounded(value, number):
    """The text of a plain value, each number in it in the given format."""
    kind = type(value)
    if kind is float:
        return number % value
    if kind is dict:
        items = ([rounded(part, number) for part in item] for item in value.items())
        return "{%s}" % ", ".join(map(": ".join, items))
    if kind in (list, tuple, set) and value:
        start, end = {list: "[]", tuple: "()", set: "{}"}[kind]
        inner = ", ".join(rounded(part, number) for part in value)
        return start + inner + ("," if kind is tuple and len(value) == 1 else "") + end
    return repr(value)


def qualified(module, name):
    """A name with its module, unless that is Python's own."""
    return name if module in BUILTIN_MODULES else "%s.%s" % (module, name)


def pattern_text(pattern):
    """A compiled regular expression as one would write it."""
    names = ("TEMPLATE", "IGNORECASE", "LOCALE", "MULTILINE", "DOTALL", "UNICODE", "VERBOSE", "DEBUG")
    flags = ["re." + name for number, name in enumerate(names) if pattern.flags & (1 << number)]
    source = repr(pattern.pattern)
    quoted = "r" + source.replace("\\\\", "\\")
    return "re.compile(%s)" % ", ".join([quoted] + (["|".join(flags)] if flags else []))


class PlainPrinter:
    """The printer for `_repr_pretty_`: takes pieces of text, and never breaks a line."""

    def __init__(self):
        self.pieces = []

    def text(self, text):
        """A piece."""
        self.pieces.append(text)

    def breakable(self, sep=" "):
        """A place where a line could end."""
        self.pieces.append(sep)

    def break_(self):
        """The end of a line."""
        self.pieces.append("\n")

    def pretty(self, value):
        """A value inside."""
        self.pieces.append(plain_text(value))

    def begin_group(self, _indent=0, open=""):
        """The beginning of a group."""
        self.pieces.append(open)

    def end_group(self, _dedent=0, close=""):
        """Its end."""
        self.pieces.append(close)

    def group(self, indent=0, open="", close=""):
        """Both, around a `with` block."""

        def around():
            self.begin_group(indent, open)
            yield
            self.end_group(indent, close)

        return library("contextlib").contextmanager(around)()

    def indent(self, _indent):
        """A block further in."""
        return self.group()
