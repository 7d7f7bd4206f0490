"""Stands in for IPython.core.magic where that is not installed: classes of magics, and their decorators."""

from .base import library, state
from .shell import UsageError

KINDS = ("line", "cell")


class Magics:
    """The base of classes with magics; `magics_class` notes which methods are magics."""

    __module__ = "IPython.core.magic"

    # By kind, then by the name of the magic: the name of its method.
    magics = None
    registered = False
    options_table = None

    def __init__(self, shell=None, **_keys):
        if not self.registered:
            raise ValueError("Magics subclass without registration - did you forget to apply @magics_class?")
        self.shell = shell if shell is not None else state.runner.shell
        self.options_table = {}
        noted, self.magics = self.magics, {}
        for kind in KINDS:
            self.magics[kind] = {name: getattr(self, method) for name, method in noted[kind].items()}

    def parse_options(self, arg_str, opt_str, *long_opts, **keys):
        """Options in front of a line, and the rest of it: as text, or as words with `mode="list"`."""
        mode, posix = keys.get("mode", "string"), keys.get("posix", True)
        getopt = library("getopt")
        words = library("shlex").split(arg_str, posix=posix) if arg_str.strip() else []
        if not any(word.startswith("-") for word in words):
            found, rest = [], words
        else:
            try:
                found, rest = getopt.getopt(words, opt_str, list(long_opts))
            except getopt.GetoptError as error:
                raise UsageError(
                    '%s (allowed: "%s" %s)' % (error.msg, opt_str, " ".join(long_opts))
                ) from None
        options = Options()
        for name, value in found:
            name = name.lstrip("-")
            if name in options and (keys.get("list_all") or isinstance(options[name], list)):
                options[name] = (options[name] if isinstance(options[name], list) else [options[name]]) + [
                    value
                ]
            else:
                options[name] = [value] if keys.get("list_all") else value
        if mode == "list":
            return options, rest
        if not found and keys.get("preserve_non_opts", True):
            return options, arg_str
        return options, " ".join(rest)

    def default_option(self, fn, optstr):
        """Options that a magic has when none are given."""
        self.options_table[fn] = optstr

    def arg_err(self, func):
        """Tells that a magic was used wrongly."""
        print("Error in arguments:")
        print(library("inspect").getdoc(func))


class Options(dict):
    """Options by their names, also as attributes."""

    def __getattr__(self, name):
        return self.get(name)


def magics_class(cls):
    """Notes the magics of a class."""
    noted = {kind: {} for kind in KINDS}
    for base in reversed(cls.__mro__):
        for method, function in vars(base).items():
            for kind, name in getattr(function, "_cellist_magic", ()):
                noted[kind][name] = method
    cls.magics, cls.registered = noted, True
    return cls


def method_marker(kinds):
    """A decorator that marks a method as a magic, under its own name or another."""

    def mark(given):
        def marked(function, name):
            function._cellist_magic = tuple((kind, name) for kind in kinds)
            return function

        if isinstance(given, str):
            return lambda function: marked(function, given)
        return marked(given, given.__name__)

    return mark


def registrar(kind):
    """A decorator that registers a function as a magic, under its own name or another."""

    def register(given):
        def registered(function, name):
            state.runner.shell.register_magic_function(function, kind, name)
            return function

        if isinstance(given, str):
            return lambda function: registered(function, given)
        return registered(given, given.__name__)

    return register


def attribute_marker(name):
    """A decorator that says something about a magic."""

    def mark(function):
        setattr(function, name, True)
        return function

    return mark


def on_off(tag):
    """A setting as text."""
    return ["OFF", "ON"][bool(tag)]


def fill(module):
    """Fills IPython.core.magic."""
    module.Magics, module.magics_class, module.UsageError = Magics, magics_class, UsageError
    module.on_off, module.magic_kinds = on_off, KINDS
    for kind, kinds in (("line", ("line",)), ("cell", ("cell",)), ("line_cell", KINDS)):
        setattr(module, kind + "_magic", method_marker(kinds))
        setattr(module, "register_%s_magic" % kind, registrar(kind))
    module.needs_local_scope = attribute_marker("needs_local_scope")
    module.no_var_expand = attribute_marker("_ipython_magic_no_var_expand")
    module.output_can_be_silenced = attribute_marker("_ipython_magic_output_can_be_silenced")
