"""Stands in for IPython.core.magic_arguments where that is not installed: arguments of magics, by `argparse`."""

from .base import library
from .shell import UsageError

argparse = library("argparse")


class MagicHelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the description of a magic as it was written."""

    __module__ = "IPython.core.magic_arguments"

    def add_usage(self, usage, actions, groups, prefix="::\n\n  %"):
        """The first line of the help."""
        super().add_usage(usage, actions, groups, prefix)


class MagicArgumentParser(argparse.ArgumentParser):
    """Reads the line of a magic; a wrong one is a UsageError rather than the end of the process."""

    __module__ = "IPython.core.magic_arguments"

    def __init__(self, prog=None, usage=None, description=None, epilog=None, parents=None, **keys):
        keys.setdefault("formatter_class", MagicHelpFormatter)
        keys.setdefault("add_help", False)
        keys.setdefault("conflict_handler", "error")
        super().__init__(
            prog=prog, usage=usage, description=description, epilog=epilog, parents=parents or [], **keys
        )

    def error(self, message):
        """A line that is wrong."""
        raise UsageError(message)

    def parse_argstring(self, argstring, partial=False):
        """Reads a line; with `partial`, returns the words that are not known as well."""
        words = library("shlex").split(argstring)
        return self.parse_known_args(words) if partial else self.parse_args(words)


class ArgDecorator:
    """The base of decorators that describe the arguments of a magic."""

    __module__ = "IPython.core.magic_arguments"

    def __call__(self, func):
        if not getattr(func, "has_arguments", False):
            func.has_arguments, func.decorators = True, []
        func.decorators.append(self)
        return func

    def add_to_parser(self, parser, group):
        """Adds it to the parser of a magic."""


class magic_arguments(ArgDecorator):
    """The outermost one: makes the parser."""

    __module__ = "IPython.core.magic_arguments"

    def __init__(self, name=None):
        self.name = name

    def __call__(self, func):
        if not getattr(func, "has_arguments", False):
            func.has_arguments, func.decorators = True, []
        if self.name is not None:
            func.argcmd_name = self.name
        func.parser = construct_parser(func)
        return func


class argument(ArgDecorator):
    """One argument, as `argparse` describes it."""

    __module__ = "IPython.core.magic_arguments"

    def __init__(self, *args, **kwds):
        self.args, self.kwds = args, kwds

    def add_to_parser(self, parser, group):
        """Adds the argument."""
        (parser if group is None else group).add_argument(*self.args, **self.kwds)


class defaults(ArgDecorator):
    """Values of arguments that are not given."""

    __module__ = "IPython.core.magic_arguments"

    def __init__(self, *args, **kwds):
        self.args, self.kwds = args, kwds

    def add_to_parser(self, parser, group):
        """Adds the values."""
        (parser if group is None else group).set_defaults(*self.args, **self.kwds)


class argument_group(ArgDecorator):
    """Puts the arguments below it into a group."""

    __module__ = "IPython.core.magic_arguments"

    def __init__(self, *args, **kwds):
        self.args, self.kwds = args, kwds

    def add_to_parser(self, parser, group):
        """Makes the group."""
        return parser.add_argument_group(*self.args, **self.kwds)


class kwds(ArgDecorator):
    """Settings of the parser itself."""

    __module__ = "IPython.core.magic_arguments"

    def __init__(self, **keys):
        self.kwds = keys

    def __call__(self, func):
        func = super().__call__(func)
        func.argcmd_kwds = self.kwds
        return func


def real_name(func):
    """The name of a magic."""
    name = getattr(func, "argcmd_name", None) or func.__name__
    return name[len("magic_") :] if name.startswith("magic_") else name


def construct_parser(magic_func):
    """The parser that the decorators of a magic describe; its help becomes the documentation."""
    keys = dict(getattr(magic_func, "argcmd_kwds", {}))
    keys.setdefault("description", getattr(magic_func, "__doc__", None))
    parser = MagicArgumentParser(real_name(magic_func), **keys)
    group = None
    # Decorators are called from the innermost to the outermost; they are read from the top.
    for decorator in magic_func.decorators[::-1]:
        made = decorator.add_to_parser(parser, group)
        group = made if made is not None else group
    magic_func.__doc__ = parser.format_help()
    return parser


def parse_argstring(magic_func, argstring, partial=False):
    """Reads the line of a magic."""
    return magic_func.parser.parse_argstring(argstring, partial=partial)


CONTENTS = (
    MagicHelpFormatter,
    MagicArgumentParser,
    ArgDecorator,
    magic_arguments,
    argument,
    defaults,
    argument_group,
    kwds,
    real_name,
    construct_parser,
    parse_argstring,
)


def fill(module):
    """Fills IPython.core.magic_arguments."""
    for item in CONTENTS:
        setattr(module, item.__name__, item)
