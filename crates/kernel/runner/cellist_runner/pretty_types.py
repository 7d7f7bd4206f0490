"""How values of Python's own types are printed: containers, functions, classes, errors and the like."""

import os
import re
import sys
import types

from .base import library

BUILTIN_MODULES = (None, "__builtin__", "builtins", "exceptions")


class RawText:
    """A value that is printed as the text that it holds."""

    def __init__(self, value):
        self.value = value

    def _repr_pretty_(self, printer, _cycle):
        printer.text(self.value)


class CallExpression:
    """A value that is printed as a call, an argument a line where the line is too short."""

    def __init__(self, name, /, *arguments, **keys):
        self.name = name
        self.arguments = arguments
        self.keys = keys

    @classmethod
    def factory(cls, name):
        """Makes calls of one function."""
        return lambda *arguments, **keys: cls(name, *arguments, **keys)

    def _repr_pretty_(self, printer, _cycle):
        first = True
        with printer.group(len(self.name) + 1, self.name + "(", ")"):
            for name, value in [("", value) for value in self.arguments] + list(self.keys.items()):
                if not first:
                    printer.text(",")
                    printer.breakable()
                first = False
                if not name:
                    printer.pretty(value)
                    continue
                with printer.group(len(name) + 1, name + "="):
                    printer.pretty(value)


class RawStringLiteral:
    """A text that is printed as a raw literal."""

    def __init__(self, value):
        self.value = value

    def _repr_pretty_(self, printer, _cycle):
        printer.text("r" + repr(self.value).replace("\\\\", "\\"))


def print_repr(value, printer, _cycle):
    """A value by its own text, whose lines stay lines."""
    with printer.group():
        for number, line in enumerate(repr(value).splitlines()):
            if number:
                printer.break_()
            printer.text(line)


def print_object(value, printer, cycle):
    """An object that says nothing about itself: by its class."""
    kind = _class_of(value)
    if getattr(kind, "__repr__", None) is not object.__repr__:
        print_repr(value, printer, cycle)
        return
    printer.begin_group(1, "<")
    printer.pretty(kind)
    printer.text(" at 0x%x" % id(value))
    if cycle:
        printer.text(" ...")
    elif printer.verbose:
        _print_attributes(value, printer)
    printer.end_group(1, ">")


def _class_of(value):
    try:
        return value.__class__ or type(value)
    except Exception:
        return type(value)


def _print_attributes(value, printer):
    first = True
    for name in dir(value):
        if name.startswith("_"):
            continue
        try:
            held = getattr(value, name)
        except AttributeError:
            continue
        if isinstance(held, types.MethodType):
            continue
        if not first:
            printer.text(",")
        first = False
        printer.breakable()
        printer.text(name + "=")
        with printer.indent(len(name) + 1):
            printer.pretty(held)


def _print_items(items, printer, start, end, single=""):
    """Items between brackets, a comma behind each but the last."""
    printer.begin_group(len(start), start)
    for index, item in printer._enumerate(items):
        if index:
            printer.text(",")
            printer.breakable()
        printer.pretty(item)
    if single:
        printer.text(single)
    printer.end_group(len(start), end)


def sequence(start, end):
    """The printer of lists or of tuples."""

    def print_sequence(value, printer, cycle):
        if cycle:
            printer.text(start + "..." + end)
            return
        lone = len(value) == 1 and isinstance(value, tuple)
        _print_items(value, printer, start, end, "," if lone else "")

    return print_sequence


def a_set(start, end):
    """The printer of sets, whose items are sorted."""

    def print_set(value, printer, cycle):
        if cycle:
            printer.text(start + "..." + end)
        elif not value:
            printer.text(type(value).__name__ + "()")
        else:
            long = printer.max_seq_length and len(value) >= printer.max_seq_length
            _print_items(value if long else in_order(value), printer, start, end)

    return print_set


def in_order(items):
    """Items in order; by their text where they cannot be compared."""
    items = list(items)
    for key in (None, str):
        try:
            return sorted(items, key=key)
        except Exception:
            pass
    return items


def mapping(start, end):
    """The printer of dictionaries."""

    def print_mapping(value, printer, cycle):
        if cycle:
            printer.text("{...}")
            return
        printer.begin_group(len(start), start)
        for index, key in printer._enumerate(value.keys()):
            if index:
                printer.text(",")
                printer.breakable()
            printer.pretty(key)
            printer.text(": ")
            printer.pretty(value[key])
        printer.end_group(len(start), end)

    return print_mapping


def print_super(value, printer, _cycle):
    """A `super` object: where it stands, and of what."""
    printer.begin_group(8, "<super: ")
    printer.pretty(value.__thisclass__)
    printer.text(",")
    printer.breakable()
    printer.pretty(value.__self__)
    printer.end_group(8, ">")


def print_pattern(value, printer, _cycle):
    """A regular expression as the call that makes it."""
    names = ("IGNORECASE", "LOCALE", "MULTILINE", "DOTALL", "UNICODE", "VERBOSE", "DEBUG")
    flags = "|".join("re." + name for name in names if value.flags & getattr(re, name))
    parts = [RawText(flags)] if value.flags else []
    printer.pretty(CallExpression("re.compile", RawStringLiteral(value.pattern), *parts))


def print_class(value, printer, cycle):
    """A class by its full name, unless its own class has something else to say."""
    kind = type(value)
    if next((base for base in kind.__mro__ if "__repr__" in vars(base)), type) is not type:
        print_repr(value, printer, cycle)
        return
    name = getattr(value, "__qualname__", None)
    if not isinstance(name, str):
        name = value.__name__ if isinstance(value.__name__, str) else "<unknown type>"
    printer.text(qualified(getattr(value, "__module__", None), name))


def print_function(value, printer, _cycle):
    """A function with its arguments."""
    name = getattr(value, "__qualname__", value.__name__)
    if value.__module__:
        name = qualified(value.__module__, name)
    try:
        name += str(signature(value))
    except (ValueError, TypeError):
        pass
    printer.text("<function %s>" % name)


def signature(function):
    """A function's arguments; annotations that cannot be evaluated yet stay names."""
    inspect = library("inspect")
    if sys.version_info < (3, 14):
        return inspect.signature(function)
    return inspect.signature(function, annotation_format=library("annotationlib").Format.FORWARDREF)


def qualified(module, name):
    """A name with its module, unless that is Python's own."""
    return name if module in BUILTIN_MODULES else "%s.%s" % (module, name)


def print_error(value, printer, _cycle):
    """An error as the call that makes it."""
    kind = value.__class__
    name = qualified(kind.__module__, getattr(kind, "__qualname__", kind.__name__))
    printer.pretty(CallExpression(name, *getattr(value, "args", ())))


def print_namespace(value, printer, cycle):
    """A `SimpleNamespace`."""
    call = (
        CallExpression("namespace", RawText("...")) if cycle else CallExpression("namespace", **vars(value))
    )
    printer.pretty(call)


def call_of(arguments):
    """The printer of a class of `collections`, which is printed as the call that makes the value."""

    def print_call(value, printer, cycle):
        found, keys = ((RawText("..."),), {}) if cycle else arguments(value)
        printer.pretty(CallExpression(value.__class__.__name__, *found, **keys))

    return print_call


def _deque(value):
    return (list(value),), {} if value.maxlen is None else {"maxlen": value.maxlen}


def _by_type():
    datetime = library("datetime")
    printers = {
        int: print_repr,
        float: print_repr,
        str: print_repr,
        bytes: print_repr,
        slice: print_repr,
        range: print_repr,
        tuple: sequence("(", ")"),
        list: sequence("[", "]"),
        dict: mapping("{", "}"),
        set: a_set("{", "}"),
        frozenset: a_set("frozenset({", "})"),
        super: print_super,
        re.Pattern: print_pattern,
        type: print_class,
        types.FunctionType: print_function,
        types.BuiltinFunctionType: print_function,
        types.MethodType: print_repr,
        types.SimpleNamespace: print_namespace,
        types.MappingProxyType: mapping("mappingproxy({", "})"),
        datetime.datetime: print_repr,
        datetime.timedelta: print_repr,
        BaseException: print_error,
    }
    printers.setdefault(type(os.environ), mapping("environ{", "}"))
    return printers


BY_TYPE = _by_type()
BY_NAME = {
    ("collections", "defaultdict"): call_of(lambda value: ((value.default_factory, dict(value)), {})),
    ("collections", "OrderedDict"): call_of(lambda value: ((list(value.items()),) if value else (), {})),
    ("collections", "deque"): call_of(_deque),
    ("collections", "Counter"): call_of(lambda value: ((dict(value.most_common()),) if value else (), {})),
    ("collections", "UserList"): call_of(lambda value: ((value.data,), {})),
}
