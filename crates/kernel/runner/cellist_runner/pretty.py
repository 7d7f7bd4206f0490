"""Values as text of several lines, by the same rules as IPython's: where lines end, what is sorted, what is left out."""

from .base import library, load

MAX_SEQ_LENGTH = 1000
MAX_WIDTH = 79


class Group:
    """Text that is broken as a whole: at all of its places, or at none."""

    def __init__(self, depth):
        self.depth = depth
        self.breaks = False
        # The places in the buffer, first one first.
        self.places = []


class Place:
    """A place where a line may end."""

    def __init__(self, text, indentation, group):
        self.text = text
        self.indentation = indentation
        self.group = group


class PrettyPrinter:
    """Takes text and places where it may be broken; breaks outer groups first, and only lines that are too long.

    Text waits in a buffer from the first place on that is not decided yet.
    """

    def __init__(self, output, max_width=MAX_WIDTH, newline="\n", max_seq_length=MAX_SEQ_LENGTH):
        self.output = output
        self.max_width = max_width
        self.newline = newline
        self.max_seq_length = max_seq_length
        self.indentation = 0
        # The width of the line so far, and of the text that waits.
        self.output_width = 0
        self.buffer_width = 0
        self._buffer = library("collections").deque()
        self._open = [Group(0)]
        # Groups that could still be broken, by their depth.
        self._levels = [[self._open[0]]]

    # For printers.

    def text(self, text):
        """Adds text."""
        if not self._buffer:
            self.output.write(text)
            self.output_width += len(text)
            return
        if isinstance(self._buffer[-1], str):
            self._buffer[-1] += text
        else:
            self._buffer.append(text)
        self.buffer_width += len(text)
        self._fit()

    def breakable(self, sep=" "):
        """Adds a place where the line may end; the separator stands there where it does not."""
        group = self._open[-1]
        if group.breaks:
            self.flush()
            self._new_line(self.indentation)
            return
        place = Place(sep, self.indentation, group)
        group.places.append(place)
        self._buffer.append(place)
        self.buffer_width += len(sep)
        self._fit()

    def break_(self):
        """Ends the line."""
        group = self._take_group()
        if group is not None:
            self._break(group)
        self.flush()
        self._new_line(self.indentation)

    def begin_group(self, indent=0, open=""):
        """Begins a group, with a text before it."""
        if open:
            self.text(open)
        group = Group(self._open[-1].depth + 1)
        self._open.append(group)
        while len(self._levels) <= group.depth:
            self._levels.append([])
        self._levels[group.depth].append(group)
        self.indentation += indent

    def end_group(self, dedent=0, close=""):
        """Ends a group, with a text behind it."""
        self.indentation -= dedent
        group = self._open.pop()
        if not group.places:
            self._forget(group)
        if close:
            self.text(close)

    def group(self, indent=0, open="", close=""):
        """A group around a `with` block."""
        return Around(lambda: self.begin_group(indent, open), lambda: self.end_group(indent, close))

    def indent(self, indent):
        """A `with` block whose lines are further in."""

        def move(by):
            self.indentation += by

        return Around(lambda: move(indent), lambda: move(-indent))

    def flush(self):
        """Writes out all text that waits."""
        for item in self._buffer:
            # Counted as IPython counts it, so that later lines break in the same place.
            self.output_width += self._write(item)
        self._buffer.clear()
        self.buffer_width = 0

    def _enumerate(self, items):
        """Items with their numbers, up to the limit."""
        for index, item in enumerate(items):
            if self.max_seq_length and index >= self.max_seq_length:
                self.text(",")
                self.breakable()
                self.text("...")
                return
            yield index, item

    # Breaking lines.

    def _new_line(self, indentation):
        self.output.write(self.newline)
        self.output.write(" " * indentation)
        self.output_width = indentation
        self.buffer_width = 0

    def _fit(self):
        """Breaks groups until the line fits, or there is none left."""
        while self.max_width < self.output_width + self.buffer_width:
            group = self._take_group()
            if group is None:
                return
            self._break(group)

    def _break(self, group):
        """Writes out the text up to the last place of a group, and the text behind that."""
        while group.places:
            self._write_first()
        while self._buffer and isinstance(self._buffer[0], str):
            self._write_first()

    def _write_first(self):
        item = self._buffer.popleft()
        width = len(item if isinstance(item, str) else item.text)
        self.output_width = self._write(item)
        self.buffer_width -= width

    def _write(self, item):
        """Writes text or a place; returns the width of the line then."""
        if isinstance(item, str):
            self.output.write(item)
            return self.output_width + len(item)
        group = item.group
        group.places.pop(0)
        if group.breaks:
            self.output.write(self.newline)
            self.output.write(" " * item.indentation)
            return item.indentation
        if not group.places:
            self._forget(group)
        self.output.write(item.text)
        return self.output_width + len(item.text)

    def _take_group(self):
        """The outermost group with a place in the buffer, which is broken from now on."""
        for level in self._levels:
            for index, group in enumerate(reversed(level)):
                if group.places:
                    # Not always the group itself, as in IPython: it decides which groups are broken later.
                    del level[index]
                    group.breaks = True
                    return group
            for group in level:
                group.breaks = True
            del level[:]
        return None

    def _forget(self, group):
        level = self._levels[group.depth]
        if group in level:
            level.remove(group)


class Around:
    """Two calls around a `with` block."""

    def __init__(self, enter, leave):
        self._enter, self._leave = enter, leave

    def __enter__(self):
        self._enter()

    def __exit__(self, *_error):
        self._leave()


class RepresentationPrinter(PrettyPrinter):
    """Prints values: by the printer of their class, by their own method, or by their `repr`."""

    def __init__(
        self,
        output,
        verbose=False,
        max_width=MAX_WIDTH,
        newline="\n",
        singleton_pprinters=None,
        type_pprinters=None,
        deferred_pprinters=None,
        max_seq_length=MAX_SEQ_LENGTH,
    ):
        PrettyPrinter.__init__(self, output, max_width, newline, max_seq_length)
        self.verbose = verbose
        self.stack = []
        self._printers = load("pretty_types")
        self.singleton_pprinters = singleton_pprinters or {}
        # Registered by the user; they come before the printers for all.
        self.type_pprinters = {} if type_pprinters is None else type_pprinters
        self.deferred_pprinters = {} if deferred_pprinters is None else deferred_pprinters

    def pretty(self, value):
        """Prints a value, inside of others or alone."""
        cycle = id(value) in self.stack
        self.stack.append(id(value))
        self.begin_group()
        try:
            if id(value) in self.singleton_pprinters:
                return self.singleton_pprinters[id(value)](value, self, cycle)
            return self._printer(value)(value, self, cycle)
        finally:
            self.end_group()
            self.stack.pop()

    def _printer(self, value):
        printers = self._printers
        if any(value is single for single in (None, True, False, Ellipsis, NotImplemented)):
            return printers.print_repr
        kind = attribute(value, "__class__") or type(value)
        for base in getattr(kind, "__mro__", None) or (kind,):
            printer = self.type_pprinters.get(base) or printers.BY_TYPE.get(base)
            if printer is not None:
                return printer
            name = (attribute(base, "__module__"), attribute(base, "__name__"))
            printer = self.deferred_pprinters.get(name) or printers.BY_NAME.get(name)
            if printer is not None:
                return printer
            own = vars(base)
            if "_repr_pretty_" in own and callable(base._repr_pretty_):
                return base._repr_pretty_
            if base is not object and "__repr__" in own and callable(attribute(base, "__repr__")):
                return printers.print_repr
        return printers.print_object


def attribute(value, name):
    """An attribute of a value, whatever its class does about it."""
    try:
        return getattr(value, name, None)
    except Exception:
        return None


def pretty(
    value, verbose=False, max_width=MAX_WIDTH, newline="\n", max_seq_length=MAX_SEQ_LENGTH, **printers
):
    """The text of a value."""
    output = library("io").StringIO()
    printer = RepresentationPrinter(
        output, verbose, max_width, newline, max_seq_length=max_seq_length, **printers
    )
    printer.pretty(value)
    printer.flush()
    return output.getvalue()


def pprint(value, verbose=False, max_width=MAX_WIDTH, newline="\n", max_seq_length=MAX_SEQ_LENGTH):
    """Prints the text of a value."""
    print(pretty(value, verbose, max_width, newline, max_seq_length))


def for_type(kind, function):
    """Registers a printer of a type, for all; returns the previous one."""
    return _register(load("pretty_types").BY_TYPE, kind, function)


def for_type_by_name(type_module, type_name, function):
    """Registers a printer of a type that need not be imported yet; returns the previous one."""
    return _register(load("pretty_types").BY_NAME, (type_module, type_name), function)


def _register(printers, key, function):
    before = printers.get(key)
    if function is not None:
        printers[key] = function
    return before
