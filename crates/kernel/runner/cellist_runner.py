"""The runner: what runs a user's code inside their own Python, on behalf of cellist.

One file, nothing but the standard library, Python 3.8 or newer. The protocol is described in
docs/runner-protocol.md. In short: requests come in and frames go out on two descriptors of their own, one
JSON object a line; what the program writes goes straight to descriptors 1 and 2, with numbered marks between,
by which the host puts the streams and the frames back in order.

Modules that a plain cell does not need are imported where they are used: start-up time is felt by everyone.
"""

import _ast
import _codecs
import _contextvars
import _signal
import _thread
import builtins
import errno
import io
import json
import os
import re
import sys
import threading
import types

try:
    from _queue import Empty, SimpleQueue
except ImportError:
    from queue import Empty, SimpleQueue

PROTOCOL = 1
# A longer frame is refused: whoever reads it has to hold it in memory, several times over.
LARGEST_FRAME = 256 * 1024 * 1024

HERE = __file__ if "__file__" in globals() else "<cellist_runner>"
MAIN_THREAD = _thread.get_ident()
START_PATH = list(sys.path)

STDOUT, STDERR = 0, 1
# The execution that started the code which runs here: tasks inherit it, and so do threads.
OWNER = _contextvars.ContextVar("cellist_owner", default=None)
CO_COROUTINE = 0x80


def library(name):
    """Imports a module of the standard library, whatever files of the same name lie in the working folder."""
    module = sys.modules.get(name)
    if module is not None:
        return module
    path = sys.path
    sys.path = START_PATH
    try:
        __import__(name)
    finally:
        sys.path = path
    return sys.modules[name]


# --- JSON -----------------------------------------------------------------------------------------


def _replace_surrogates(error):
    return b"\xef\xbf\xbd" * (error.end - error.start), error.end


# Half a surrogate pair cannot travel as UTF-8; an escape would be refused by the reader.
_codecs.register_error("cellist.replace", _replace_surrogates)


def to_json(value):
    """A value as the bytes of JSON text, cleaned where it cannot be said in JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_json_default)
    except (TypeError, ValueError):
        text = json.dumps(_json_clean(value, 0), ensure_ascii=False, allow_nan=False, default=_json_default)
    return text.encode("utf-8", "cellist.replace")


def base64_text(data):
    """Bytes as base64 text."""
    return library("binascii").b2a_base64(data, newline=False).decode("ascii")


def _json_default(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64_text(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    for number in (int, float):
        if hasattr(type(value), "__%s__" % number.__name__):
            try:
                return number(value)
            except Exception:
                pass
    if hasattr(type(value), "__iter__"):
        return list(value)
    return str(value)


def _json_clean(value, depth):
    if depth > 100:
        return repr(value)
    if isinstance(value, float) and not (value - value == 0):
        return repr(value)
    if isinstance(value, dict):
        return {str(key): _json_clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_json_clean(item, depth + 1) for item in value]
    return value


# --- Interrupts -----------------------------------------------------------------------------------


class Interrupts:
    """Turns SIGINT into KeyboardInterrupt, but only where a cell's own code runs."""

    def __init__(self):
        # Code that must not be left half way: see `whole`.
        self.whole_codes = set()
        # Code of ours that runs a loop.
        self.loop_codes = set()
        self.armed = False
        self.deferred = False
        self.happened = False
        # How often the handler ran.
        self.handled = 0
        # Whether a task that runs between cells is to be broken off.
        self.breaks_in = False
        # The loop and the task of a cell that awaits.
        self.loop = None
        self.task = None

    def whole(self, function):
        """Marks a function that an interrupt may not cut in two; it is raised at its end instead."""
        self.whole_codes.add(function.__code__)
        return function

    def settle(self):
        """Raises what came while a whole function ran."""
        if self.deferred and _thread.get_ident() == MAIN_THREAD:
            self.deferred = False
            if self.armed:
                raise KeyboardInterrupt

    def handle(self, _number, frame):
        """The handler of SIGINT."""
        self.handled += 1
        if self.breaks_in and runner.tasks.turning:
            self.breaks_in = False
            raise KeyboardInterrupt
        if not self.armed:
            return
        self.happened = True
        outer = frame
        while outer is not None:
            if outer.f_code in self.whole_codes:
                self.deferred = True
                return
            outer = outer.f_back
        if self.task is not None and self._in_loop(frame):
            # Raised inside the loop's own bookkeeping it could lose a callback of some other task.
            self.loop.call_soon_threadsafe(self.task.cancel)
            return
        raise KeyboardInterrupt

    def _in_loop(self, frame):
        """Whether the loop itself runs, rather than code of a task."""
        loop_folder = os.path.dirname(sys.modules["asyncio"].__file__)
        while frame is not None and frame.f_code not in self.loop_codes:
            name = frame.f_code.co_filename
            if os.path.dirname(name) != loop_folder and os.path.basename(name) != "selectors.py":
                return False
            frame = frame.f_back
        return True

    def reset(self):
        """Before a cell: forgets what the last one was sent."""
        self.deferred = False
        self.happened = False
        self.breaks_in = False


interrupts = Interrupts()


# --- What the host hears --------------------------------------------------------------------------


# What a pipe is sure to take in one piece, on any system.
ONE_PIECE = 512


def write_each(targets):
    """Writes some bytes to each of some pipes, without fail.

    A signal handler of the program's may run between any two steps of Python code, and raise. So the writes
    are made inside one call, which notes how far it got, and what was raised is raised when all is written.
    """
    written, raised = [], None
    while True:
        try:
            while len(written) < len(targets):
                descriptors, pieces = zip(*targets[len(written) :])
                written.extend(map(os.write, descriptors, pieces))
            break
        except BlockingIOError:
            # A child made the pipe non-blocking.
            os.set_blocking(targets[len(written)][0], True)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EBADF):
                raise
            raised = error
    if raised is not None:
        raise raised


def write_whole(descriptor, data):
    """Writes bytes that a pipe may take in several pieces, without fail."""
    view, counts, raised = memoryview(data), [], None
    while True:
        try:
            while sum(counts) < len(view):
                counts.extend(map(os.write, (descriptor,), (view[sum(counts) :],)))
            break
        except BlockingIOError:
            os.set_blocking(descriptor, True)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EBADF):
                raise
            raised = error
    if raised is not None:
        raise raised


class Outlet:
    """The two output pipes and the frames, in one order.

    Text of the program is written at once. At each turn from one stream to the other, and before each frame
    that has a place among the text, a mark with the next number goes into both pipes.
    """

    def __init__(self, frames, token):
        self.frames = frames
        self.prefix = b"\0" + token.encode("ascii")
        # Copies of our own: a program may point 1 and 2 elsewhere, and children do not inherit these.
        self.pipes = (os.dup(1), os.dup(2))
        self.number = 0
        self.written = None
        # The execution that runs, or ran last, and whether other threads may write.
        self.current = None
        self.shared = False
        self.forked = False
        self.order = threading.RLock()
        self.line = _thread.allocate_lock()
        # Whether marks are being written, and frames that came in between: from a signal handler.
        self.inside = False
        self.later = []
        # A frame that goes along with the next one, unless text comes before that.
        self.held = None
        self.streams = [TextStream(self, STDOUT), TextStream(self, STDERR)]

    def _mark(self, kind):
        """The next mark, for both pipes."""
        self.number += 1
        mark = b"%s%s%d;" % (self.prefix, kind, self.number)
        return [(self.pipes[STDOUT], mark), (self.pipes[STDERR], mark)]

    def flush(self):
        """Writes out what is buffered of the text of both streams."""
        for stream in self.streams:
            stream.flush()

    @interrupts.whole
    def turn(self, stream):
        """The text that follows is `stream`'s."""
        with self.order:
            if self.inside:
                return
            self.inside = True
            try:
                if self.held is not None:
                    self.flush()
                    self._send_one(self._with_held(None))
                elif self.written is not None:
                    self.flush()
                    if not self.forked:
                        write_each(self._mark(b"t"))
                self.written = stream
            finally:
                self.inside = False

    def owner(self):
        """The earlier execution whose code this is; none where it is that of the one that runs."""
        owner = OWNER.get()
        return None if owner == self.current else owner

    def write(self, buffer, data):
        """Writes text of one of several threads, or of a task of an earlier cell."""
        with self.order:
            owner = None if self.inside or self.forked else self.owner()
            if owner is not None:
                written = self._write_late(buffer, owner, data)
            else:
                if self.written is not buffer:
                    self.turn(buffer)
                written = buffer.put(data)
        interrupts.settle()
        return written

    @interrupts.whole
    def _write_late(self, buffer, owner, data):
        """Writes text of an earlier cell's, between frames that say whose it is."""
        self._send(to_json({"execution": owner, "frame": "owner"}))
        try:
            self.turn(buffer)
            written = buffer.put(data)
            buffer.flush()
        finally:
            self._send(to_json({"execution": None, "frame": "owner"}))
        return written

    def separate(self):
        """Sets what others write to the pipes apart from the text before it and the text that follows."""
        if self.forked:
            return
        self.turn(OTHERS)
        interrupts.settle()

    @interrupts.whole
    def _send(self, body):
        with self.order:
            self.later.append(body)
            if self.inside:
                return
            self.inside = True
            try:
                while self.later:
                    self.flush()
                    self._send_one(self._with_held(self.later.pop(0)))
            finally:
                self.inside = False

    @interrupts.whole
    def _hold(self, body):
        with self.order:
            if self.inside or self.held is not None or len(body) > ONE_PIECE:
                self._send(body)
                return
            self.held = body
            self.written = None

    def _with_held(self, body):
        """A frame, and before it the one that was held: lines that share a mark."""
        held, self.held = self.held, None
        if held is None or body is None:
            return held or body
        return held + b'\n{"mark":%d,' % (self.number + 1) + body[1:]

    def _send_one(self, body):
        targets = self._mark(b"f")
        self.written = None
        head = b'{"mark":%d,' % self.number
        with self.line:
            if len(body) + len(head) < ONE_PIECE:
                write_each(targets + [(self.frames, head + body[1:] + b"\n")])
                return
            write_each(targets)
            if len(body) < 65536:
                write_whole(self.frames, head + body[1:] + b"\n")
                return
            # A large one is not copied.
            write_each([(self.frames, head)])
            write_whole(self.frames, memoryview(body)[1:])
            write_each([(self.frames, b"\n")])

    def send(self, frame, **fields):
        """Sends a frame that has a place among the text."""
        self._put(self._send, frame, fields)

    def send_last(self, frame, **fields):
        """Sends a frame that the end of the cell is to follow at once, together with that.

        What Python writes in between comes behind it all the same.
        """
        self._put(self._hold, frame, fields)

    def _put(self, send, frame, fields):
        if self.forked:
            return
        fields["frame"] = frame
        owner = self.owner()
        if owner is not None:
            fields["owner"] = owner
        body = to_json(fields)
        if len(body) > LARGEST_FRAME:
            raise ValueError(
                "a %s of %d bytes is too large to be shown: the limit is %d bytes"
                % (frame, len(body), LARGEST_FRAME)
            )
        send(body)
        interrupts.settle()

    def reply(self, request, **fields):
        """Answers a request, at once: it has no place among the text."""
        if self.forked or request is None:
            return
        fields["frame"] = "reply"
        fields["reply_to"] = request
        body = to_json(fields) + b"\n"
        with self.line:
            write_whole(self.frames, body)

    @interrupts.whole
    def before_fork(self):
        """Leaves nothing in a buffer that the child would write a second time."""
        if not self.forked:
            self.turn(OTHERS)
        self.order.acquire()

    @interrupts.whole
    def after_fork(self):
        """In the parent: lets go."""
        self.order.release()

    def in_child(self):
        """A forked child writes text, but says nothing to the host."""
        self.forked = True
        self.inside = False
        self.order = threading.RLock()
        old = self.streams
        self.streams = [TextStream(self, STDOUT), TextStream(self, STDERR)]
        for name in ("stdout", "__stdout__"):
            if getattr(sys, name) is old[STDOUT]:
                setattr(sys, name, self.streams[STDOUT])
        for name in ("stderr", "__stderr__"):
            if getattr(sys, name) is old[STDERR]:
                setattr(sys, name, self.streams[STDERR])


def follow_threads(thread):
    """Has threads inherit the execution that starts them, so that their text is known as its output."""
    start, run = thread.start, thread._bootstrap_inner

    def _start(self):
        self._cellist_owner = OWNER.get()
        runner.outlet.shared = True
        start(self)

    def _bootstrap_inner(self):
        OWNER.set(getattr(self, "_cellist_owner", None))
        run(self)

    thread.start, thread._bootstrap_inner = _start, _bootstrap_inner


# Stands for whoever writes to the pipes without telling us: children, mostly.
OTHERS = object()


class Buffer(io.BufferedWriter):
    """Keeps the beginning of a line until its end, and marks each turn from the other stream.

    A child may have made the pipe non-blocking; that is taken back when it is noticed.
    """

    def __init__(self, outlet, number):
        io.BufferedWriter.__init__(self, io.FileIO(outlet.pipes[number], "w", closefd=False))
        self.outlet = outlet

    def write(self, data):
        """Takes bytes of the program's."""
        outlet = self.outlet
        if outlet.shared or OWNER.get() != outlet.current:
            return outlet.write(self, data)
        if outlet.written is not self:
            outlet.turn(self)
            interrupts.settle()
        return self.put(data)

    def put(self, data):
        """Keeps bytes, or writes them."""
        try:
            return io.BufferedWriter.write(self, data)
        except BlockingIOError as error:
            os.set_blocking(self.fileno(), True)
            rest = memoryview(data).cast("B")[error.characters_written :]
            return error.characters_written + io.BufferedWriter.write(self, rest)

    def flush(self):
        """Writes out what is kept."""
        try:
            io.BufferedWriter.flush(self)
        except BlockingIOError:
            os.set_blocking(self.fileno(), True)
            io.BufferedWriter.flush(self)


class TextStream(io.TextIOWrapper):
    """`sys.stdout` and `sys.stderr`: lines go out as they end, as on a terminal."""

    def __init__(self, outlet, number):
        io.TextIOWrapper.__init__(
            self,
            Buffer(outlet, number),
            encoding="utf-8",
            errors="backslashreplace",
            newline="\n",
            line_buffering=True,
            write_through=True,
        )
        self.number = number
        self.mode = "w"

    @property
    def name(self):
        """As Python's own streams are called."""
        return "<stdout>" if self.number == STDOUT else "<stderr>"

    def fileno(self):
        """The descriptor that C code writes to; our own is a copy of it."""
        return self.number + 1

    def isatty(self):
        """Never: it is a pipe."""
        return False

    def close(self):
        """A program that closes its output must not silence the cells that follow."""
        self.flush()


# --- How values look ------------------------------------------------------------------------------

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
        """Registers a function for a type, or for the name of one; returns what was registered before."""
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
        return self.type_printers.pop(kind, default)

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
        """What was registered for a value's type, or the value's own method."""
        printer = formatter.lookup(value)
        if printer is None:
            return representation_method(value, name)
        return lambda **keys: printer(value, **keys)

    def _plain(self, value):
        text, ok = self._try(lambda: plain_text(value, self.formatters["text/plain"]))
        return ({"text/plain": text} if ok else {}), {}

    def _try(self, method):
        """Calls a method of the user's. What it raises is shown, and does not stop the cell."""
        try:
            return method(), True
        except NotImplementedError:
            return None, False
        except Exception as error:
            runner.show_error(error)
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
    """What `_repr_pretty_` is given: takes pieces of text, and never breaks a line."""

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
        """The beginning of what belongs together."""
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


# --- Displays -------------------------------------------------------------------------------------


class DisplayPublisher:
    """Where displays go; `%%capture` and libraries put their own in its place."""

    def publish(self, data, metadata=None, source=None, transient=None, update=False, **_others):
        """Sends one display, or the new look of one."""
        outlet = runner.outlet
        display_id = (transient or {}).get("display_id")
        data = {
            mime: base64_text(content) if isinstance(content, (bytes, bytearray)) else content
            for mime, content in data.items()
        }
        if outlet.forked:
            text = data.get("text/plain")
            if text is not None:
                print(text)
            return
        outlet.send(
            "update_display" if update else "display",
            data=data,
            metadata=metadata or {},
            display_id=display_id,
        )

    def clear_output(self, wait=False):
        """Takes away what the cell has shown."""
        runner.outlet.send("clear_output", wait=bool(wait))


class DisplayHandle:
    """Something displayed, which can be changed later."""

    __module__ = "IPython.core.display_functions"

    def __init__(self, display_id=None):
        self.display_id = display_id or os.urandom(16).hex()

    def __repr__(self):
        return "<DisplayHandle display_id=%s>" % self.display_id

    def display(self, value, **keys):
        """Displays a value under this name."""
        display(value, display_id=self.display_id, **keys)

    def update(self, value, **keys):
        """Shows another value in its place."""
        update_display(value, display_id=self.display_id, **keys)


def publish_display_data(data, metadata=None, source=None, transient=None, **keys):
    """Displays representations that are already made."""
    keys.pop("clear", None)
    runner.shell.display_pub.publish(data=data, metadata=metadata, transient=transient, **keys)


def display(
    *values,
    include=None,
    exclude=None,
    metadata=None,
    transient=None,
    display_id=None,
    raw=False,
    clear=False,
    **keys,
):
    """Displays values; with a display id, returns a handle by which they can be changed."""
    if not values and display_id is None:
        return None
    transient = dict(transient or {})
    if display_id is not None:
        if display_id is True:
            display_id = os.urandom(16).hex()
        transient["display_id"] = display_id
    if keys.get("update") and "display_id" not in transient:
        raise TypeError("display_id required for update_display")
    if transient:
        keys["transient"] = transient
    if not values and display_id is not None:
        return DisplayHandle(display_id)
    if clear:
        clear_output(wait=True)
    for value in values:
        if raw:
            publish_display_data(value, metadata, **keys)
            continue
        data, made_metadata = runner.shell.display_formatter.format(value, include, exclude)
        if not data:
            continue
        made_metadata.update(metadata or {})
        publish_display_data(data, made_metadata, **keys)
    return DisplayHandle(display_id) if display_id is not None else None


def update_display(value, *, display_id, **keys):
    """Shows a value in place of the one displayed under that name."""
    keys["update"] = True
    display(value, display_id=display_id, **keys)


def clear_output(wait=False):
    """Takes away what the cell has shown, at once or when the next output comes."""
    runner.shell.display_pub.clear_output(wait)


DISPLAY_FUNCTIONS = (display, update_display, publish_display_data, clear_output, DisplayHandle)


# --- Modules that are watched, and modules that stand in ------------------------------------------


class ImportHooks:
    """Runs code of ours right after some modules were imported, and makes stand-ins for missing ones.

    It costs a look into a table for each module that is imported, and nothing before.
    """

    def __init__(self):
        self.after = {}
        self.stand_ins = {}
        self.busy = set()

    def find_spec(self, name, path=None, target=None):
        """What the import system asks."""
        hook = self.after.get(name)
        missing = self.stand_ins.get(name)
        if (hook is None and missing is None) or name in self.busy:
            return None
        self.busy.add(name)
        try:
            spec = find_spec(name, path, target)
        finally:
            self.busy.discard(name)
        if spec is None:
            if missing is None:
                return None
            machinery = sys.modules["_frozen_importlib"]
            package = name in ("IPython", "IPython.core", "IPython.lib")
            return machinery.ModuleSpec(name, StandInLoader(missing), is_package=package)
        if hook is not None and hasattr(spec.loader, "exec_module"):
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                try:
                    hook(module)
                except Exception:
                    # The module works without us, as it does everywhere else.
                    pass

            try:
                spec.loader.exec_module = exec_module
            except AttributeError:
                pass
        return spec


def find_spec(name, path, target):
    """What the other finders say."""
    for finder in sys.meta_path:
        if finder is hooks or not hasattr(finder, "find_spec"):
            continue
        spec = finder.find_spec(name, path, target)
        if spec is not None:
            return spec
    return None


class StandInLoader:
    """Fills a module that stands in for a missing one."""

    def __init__(self, fill):
        self.fill = fill

    def create_module(self, _spec):
        """An ordinary module will do."""
        return None

    def exec_module(self, module):
        """Fills it."""
        self.fill(module)


hooks = ImportHooks()


def when_imported(name):
    """Registers what is to happen right after a module was imported, or now if it already is."""

    def register(function):
        hooks.after[name] = function
        return function

    return register


@when_imported("linecache")
def _after_linecache(module):
    module.cache.update(runner.sources)


@when_imported("asyncio")
def _after_asyncio(module):
    if _thread.get_ident() == MAIN_THREAD:
        runner.tasks.prepare()


@when_imported("concurrent.futures.thread")
def _after_thread_pools(module):
    item = module._WorkItem
    make, run = item.__init__, item.run

    # The threads of a pool work for every cell that gives them something to do.
    def __init__(self, *arguments, **keys):
        make(self, *arguments, **keys)
        self._cellist_owner = OWNER.get()

    def _run(self, *arguments, **keys):
        OWNER.set(self._cellist_owner)
        run(self, *arguments, **keys)

    item.__init__, item.run = __init__, _run


@when_imported("subprocess")
def _after_subprocess(module):
    popen = module.Popen
    start = popen._execute_child
    end = popen._handle_exitstatus

    def _execute_child(self, *arguments, **keys):
        runner.outlet.separate()
        return start(self, *arguments, **keys)

    def _handle_exitstatus(self, *arguments, **keys):
        end(self, *arguments, **keys)
        # What the child wrote comes before what is written from now on.
        runner.outlet.written = OTHERS

    popen._execute_child = _execute_child
    popen._handle_exitstatus = _handle_exitstatus


@when_imported("getpass")
def _after_getpass(module):
    module.getpass = no_getpass


@when_imported("IPython.core.getipython")
def _after_getipython(module):
    module.get_ipython = get_ipython


def _reroute_display(module):
    for function in DISPLAY_FUNCTIONS:
        if hasattr(module, function.__name__):
            setattr(module, function.__name__, function)


when_imported("IPython.core.display_functions")(_reroute_display)
when_imported("IPython.core.display")(_reroute_display)


@when_imported("matplotlib")
def _after_matplotlib(module):
    chosen = os.environ.get("MPLBACKEND")
    if not chosen or "inline" in chosen:
        module.use(FIGURES)


@when_imported("matplotlib.pyplot")
def _after_pyplot(_module):
    if figures.wanted:
        figures.take_over()


@when_imported("comm")
def _after_comm(module):
    class Comm(module.BaseComm):
        """A widget's line to whoever draws it. Here it is only read for progress."""

        def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
            content = {"comm_id": self.comm_id, "data": data or {}}
            runner.outlet.send("widget", kind=msg_type, content=content)

    module.create_comm = Comm


@when_imported("tqdm.autonotebook")
def _after_tqdm(module):
    # It looks for a module of ipykernel's to tell a notebook from a terminal.
    if find_spec("ipywidgets", None, None) is not None:
        notebook = library("importlib").import_module("tqdm.notebook")
        module.tqdm, module.trange = notebook.tqdm, notebook.trange


@when_imported("plotly.io._renderers")
def _after_plotly(module):
    if not os.environ.get("PLOTLY_RENDERER"):
        module.renderers.default = "plotly_mimetype"
    if getattr(module, "nbformat", True) is None:
        # It only asks for the version, to see that what shows the figure is new enough.
        module.nbformat = types.SimpleNamespace(__version__="5.10.0")


def stand_in(name):
    """Registers what fills a module that is missing."""

    def register(function):
        hooks.stand_ins[name] = function
        return function

    return register


@stand_in("IPython")
def _fill_ipython(module):
    # Old enough for nothing to be missed, new enough for libraries not to work around bugs of long ago.
    module.version_info = (8, 37, 0, "")
    module.__version__ = "8.37.0"
    module.get_ipython = get_ipython

    def submodule(name):
        if name in ("display", "core", "lib"):
            return library("importlib").import_module("IPython." + name)
        raise AttributeError("module 'IPython' has no attribute %r" % name)

    module.__getattr__ = submodule


@stand_in("IPython.core")
def _fill_core(module):
    pass


@stand_in("IPython.core.getipython")
def _fill_getipython(module):
    module.get_ipython = get_ipython


@stand_in("IPython.core.interactiveshell")
def _fill_interactiveshell(module):
    module.InteractiveShell = ZMQInteractiveShell


@stand_in("IPython.core.error")
def _fill_error(module):
    module.UsageError, module.StdinNotImplementedError = UsageError, StdinNotImplementedError


@stand_in("IPython.core.pylabtools")
def _fill_pylabtools(module):
    module.backend2gui = {}


@stand_in("IPython.core.display_functions")
def _fill_display_functions(module):
    for function in DISPLAY_FUNCTIONS:
        setattr(module, function.__name__, function)


@stand_in("IPython.core.magic")
def _fill_magic(module):
    def registrar(kind):
        def register(function):
            if isinstance(function, str):
                return lambda inner: registered(inner, function)
            return registered(function, function.__name__)

        def registered(function, name):
            runner.shell.register_magic_function(function, kind, name)
            return function

        return register

    for kind in ("line", "cell", "line_cell"):
        setattr(module, "register_%s_magic" % kind, registrar(kind))
    module.needs_local_scope = lambda function: function


@stand_in("IPython.display")
def _fill_display(module):
    fill_display(module)


hooks.stand_ins["IPython.core.display"] = hooks.stand_ins["IPython.lib.display"] = _fill_display


@stand_in("IPython.lib")
def _fill_lib(module):
    pass


@stand_in("IPython.lib.pretty")
def _fill_pretty(module):
    module.pretty = lambda value, *_arguments, **_keys: plain_text(value)
    module.pprint = lambda value, *_arguments, **_keys: print(plain_text(value))
    module.RepresentationPrinter = PlainPrinter


# --- A stand-in for IPython.display ---------------------------------------------------------------


def fill_display(module):
    """Everything in IPython.display that programs use, where IPython is not installed."""
    known = sys.modules.get("IPython.display")
    if known is not None and known is not module and hasattr(known, "HTML"):
        for name in known.__all__:
            setattr(module, name, getattr(known, name))
        module.__all__ = known.__all__
        return

    def read(path, mode="r"):
        with open(os.path.expanduser(path), mode, **({} if "b" in mode else {"encoding": "utf-8"})) as file:
            return file.read()

    def fetch(url):
        with library("urllib.request").urlopen(url) as response:
            return response.read()

    class DisplayObject:
        """Something with representations of its own."""

        _read_flags = "r"

        def __init__(self, data=None, url=None, filename=None, metadata=None):
            if data is not None and not isinstance(data, (str, bytes, dict, list)):
                data = str(data) if not hasattr(data, "__fspath__") else data
            if hasattr(data, "__fspath__"):
                data, filename = None, os.fspath(data)
            elif isinstance(data, str) and url is None and filename is None:
                if data.startswith(("http://", "https://")):
                    data, url = None, data
                elif self._is_file(data):
                    data, filename = None, data
            self.data, self.url, self.filename = data, url, filename
            self.metadata = metadata or {}
            self.reload()

        def _is_file(self, _text):
            return False

        def reload(self):
            """Reads what was named."""
            if self.filename is not None:
                self.data = read(self.filename, self._read_flags)
            elif self.url is not None and self.data is None:
                data = fetch(self.url)
                self.data = data if self._read_flags == "rb" else data.decode("utf-8", "replace")

        def _data_and_metadata(self):
            return (self.data, dict(self.metadata)) if self.metadata else self.data

        def __repr__(self):
            return "<%s.%s object>" % (self.__class__.__module__, self.__class__.__name__)

    class TextDisplayObject(DisplayObject):
        """Something made of text."""

    class Pretty(TextDisplayObject):
        def _repr_pretty_(self, printer, _cycle):
            printer.text(self.data)

    class HTML(TextDisplayObject):
        def _repr_html_(self):
            return self._data_and_metadata()

        def __html__(self):
            return self.data

    class Markdown(TextDisplayObject):
        def _repr_markdown_(self):
            return self._data_and_metadata()

    class Latex(TextDisplayObject):
        def _repr_latex_(self):
            return self._data_and_metadata()

    class Math(TextDisplayObject):
        def _repr_latex_(self):
            text = r"$\displaystyle %s$" % self.data.strip("$")
            return (text, dict(self.metadata)) if self.metadata else text

    class SVG(DisplayObject):
        def _is_file(self, text):
            return not text.lstrip().startswith("<") and os.path.exists(text)

        def _repr_svg_(self):
            text = self.data.decode("utf-8") if isinstance(self.data, bytes) else self.data
            start = text.find("<svg")
            text = text[max(start, 0) :]
            return (text, dict(self.metadata)) if self.metadata else text

    class JSON(DisplayObject):
        def __init__(
            self, data=None, url=None, filename=None, expanded=False, metadata=None, root="root", **keys
        ):
            self.metadata = {"expanded": expanded, "root": root}
            self.metadata.update(metadata or {})
            self.metadata.update(keys)
            DisplayObject.__init__(self, data, url, filename, self.metadata)
            if isinstance(self.data, str):
                self.data = json.loads(self.data)

        def _is_file(self, text):
            return os.path.exists(text)

        def _repr_json_(self):
            return self._data_and_metadata()

    class GeoJSON(JSON):
        def _ipython_display_(self):
            data = {"application/geo+json": self.data, "text/plain": repr(self)}
            publish_display_data(data, {"application/geo+json": self.metadata})

    class Javascript(TextDisplayObject):
        def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
            self.lib = [lib] if isinstance(lib, str) else lib or []
            self.css = [css] if isinstance(css, str) else css or []
            TextDisplayObject.__init__(self, data, url, filename)

        def _repr_javascript_(self):
            return self.data

    class Image(DisplayObject):
        _read_flags = "rb"
        _FORMATS = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}

        def __init__(
            self,
            data=None,
            url=None,
            filename=None,
            format=None,
            embed=None,
            width=None,
            height=None,
            retina=False,
            unconfined=False,
            metadata=None,
            alt=None,
        ):
            name = filename or url or (data if isinstance(data, str) else "") or ""
            if hasattr(data, "__fspath__"):
                name = os.fspath(data)
            end = os.path.splitext(str(name))[1][1:].lower().replace("jpg", "jpeg")
            self.embed = embed if embed is not None else url is None and not str(data).startswith("http")
            self.width, self.height, self.alt, self.unconfined = width, height, alt, unconfined
            if not self.embed and (url or isinstance(data, str)):
                self.data, self.url, self.filename, self.metadata = (
                    None,
                    url or data,
                    filename,
                    metadata or {},
                )
            else:
                DisplayObject.__init__(self, data, url, filename, metadata)
            found = None
            if isinstance(self.data, (bytes, bytearray)):
                heads = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))
                found = next((kind for head, kind in heads if self.data.startswith(head)), None)
            self.format = (format or found or end or "png").lower().replace("jpg", "jpeg")
            if self.embed and self.format not in self._FORMATS:
                raise ValueError("Cannot embed the '%s' image format" % self.format)
            if retina and self.format == "png" and self.data:
                self.width = int.from_bytes(self.data[16:20], "big") // 2
                self.height = int.from_bytes(self.data[20:24], "big") // 2

        def _is_file(self, text):
            return os.path.exists(text)

        def _repr_mimebundle_(self, include=None, exclude=None):
            if not self.embed:
                size = "".join(
                    ' %s="%s"' % (name, getattr(self, name))
                    for name in ("width", "height", "alt")
                    if getattr(self, name) is not None
                )
                return {"text/html": '<img src="%s"%s/>' % (self.url, size)}
            mime = self._FORMATS[self.format]
            data = self.data if isinstance(self.data, str) else base64_text(self.data)
            metadata = dict(self.metadata)
            for name in ("width", "height", "alt"):
                if getattr(self, name) is not None:
                    metadata[name] = getattr(self, name)
            return {mime: data}, ({mime: metadata} if metadata else {})

    class Video(DisplayObject):
        _read_flags = "rb"

        def __init__(
            self,
            data=None,
            url=None,
            filename=None,
            embed=False,
            mimetype=None,
            width=None,
            height=None,
            html_attributes="controls",
        ):
            self.embed, self.width, self.height, self.html_attributes = embed, width, height, html_attributes
            source = url or filename or data
            self.mimetype = mimetype or library("mimetypes").guess_type(str(source))[0] or "video/mp4"
            self.metadata = {}
            self.url = source if isinstance(source, str) and not embed else None
            self.filename = filename or (data if isinstance(data, str) else None) if embed else None
            self.data = data if isinstance(data, (bytes, bytearray)) else None
            if embed:
                self.reload()

        def _repr_html_(self):
            size = "".join(
                ' %s="%s"' % (name, getattr(self, name))
                for name in ("width", "height")
                if getattr(self, name)
            )
            source = self.url
            if self.embed:
                source = "data:%s;base64,%s" % (self.mimetype, base64_text(self.data))
            return (
                '<video src="%s" %s %s>\n'
                "      Your browser does not support the <code>video</code> element.\n"
                "    </video>" % (source, self.html_attributes, size)
            )

    class Audio(DisplayObject):
        _read_flags = "rb"

        def __init__(
            self,
            data=None,
            filename=None,
            url=None,
            embed=None,
            rate=None,
            autoplay=False,
            normalize=True,
            element_id=None,
        ):
            self.autoplay, self.rate, self.element_id = autoplay, rate, element_id
            self.embed = embed if embed is not None else url is None
            if data is not None and not isinstance(data, (str, bytes)):
                if rate is None:
                    raise ValueError(
                        "rate must be specified when data is a numpy array or list of audio samples."
                    )
                data = self._wave(data, rate, normalize)
            self.metadata = {}
            if self.embed:
                DisplayObject.__init__(self, data, url, filename)
                self.mimetype = library("mimetypes").guess_type(str(filename or url or ""))[0] or "audio/wav"
            else:
                self.data, self.url, self.filename = None, url or data, filename
                self.mimetype = library("mimetypes").guess_type(str(self.url))[0] or "audio/wav"

        def _is_file(self, text):
            return os.path.exists(text)

        @staticmethod
        def _wave(samples, rate, normalize):
            wave, struct = library("wave"), library("struct")
            rows = samples.tolist() if hasattr(samples, "tolist") else list(samples)
            channels = 1
            if rows and isinstance(rows[0], list):
                channels = len(rows)
                rows = [value for frame in zip(*rows) for value in frame]
            top = max((abs(value) for value in rows), default=0) or 1
            scale = 32767 / (top if normalize else 1)
            file = io.BytesIO()
            with wave.open(file, "wb") as out:
                out.setnchannels(channels)
                out.setframerate(rate)
                out.setsampwidth(2)
                out.writeframes(struct.pack("<%dh" % len(rows), *[int(value * scale) for value in rows]))
            return file.getvalue()

        def _repr_html_(self):
            source = self.url
            if self.embed:
                source = "data:%s;base64,%s" % (self.mimetype, base64_text(self.data))
            return (
                '\n                <audio %s controls="controls" %s>\n'
                '                    <source src="%s" type="%s" />\n'
                "                    Your browser does not support the audio element.\n"
                "                </audio>\n              "
                % (
                    'id="%s"' % self.element_id if self.element_id else "",
                    'autoplay="autoplay"' if self.autoplay else "",
                    source,
                    self.mimetype,
                )
            )

    class Code(TextDisplayObject):
        def __init__(self, data=None, url=None, filename=None, language=None):
            self.language = language
            TextDisplayObject.__init__(self, data, url, filename)

        def _is_file(self, text):
            return os.path.exists(text)

        def _repr_html_(self):
            return "<pre>%s</pre>" % library("html").escape(self.data)

        def __repr__(self):
            return self.data

    class IFrame:
        """A page inside the page."""

        def __init__(self, src, width, height, extras=None, **params):
            self.src, self.width, self.height, self.params = src, width, height, params
            self.extras = extras or []

        def _repr_html_(self):
            params = "?" + library("urllib.parse").urlencode(self.params) if self.params else ""
            return (
                '\n        <iframe\n            width="%s"\n            height="%s"\n            src="%s%s"\n'
                '            frameborder="0"\n            allowfullscreen\n'
                '            referrerpolicy="strict-origin-when-cross-origin"\n            %s\n'
                "        ></iframe>\n        "
                % (self.width, self.height, self.src, params, " ".join(self.extras))
            )

    class YouTubeVideo(IFrame):
        def __init__(self, id, width=400, height=300, allow_autoplay=False, **params):
            self.id = id
            IFrame.__init__(self, "https://www.youtube.com/embed/%s" % id, width, height, **params)

    class VimeoVideo(IFrame):
        def __init__(self, id, width=400, height=300, **params):
            self.id = id
            IFrame.__init__(self, "https://player.vimeo.com/video/%s" % id, width, height, **params)

    class FileLink:
        """A link to a file."""

        def __init__(self, path, url_prefix="", result_html_prefix="", result_html_suffix="<br>"):
            self.path, self.url_prefix = os.fspath(path), url_prefix
            self.prefix, self.suffix = result_html_prefix, result_html_suffix

        def _repr_html_(self):
            if not os.path.exists(self.path):
                return "Path (<tt>%s</tt>) doesn't exist." % self.path
            escaped = library("html").escape(self.path)
            link = "<a href='%s%s' target='_blank'>%s</a>" % (self.url_prefix, escaped, escaped)
            return self.prefix + link + self.suffix

        def __repr__(self):
            return os.path.abspath(self.path)

    class FileLinks(FileLink):
        """Links to all files of a folder."""

        def _files(self):
            for folder, _, names in sorted(os.walk(self.path)):
                for name in sorted(names):
                    yield os.path.join(folder, name)

        def _repr_html_(self):
            return "\n".join(FileLink(name, self.url_prefix)._repr_html_() for name in self._files())

        def __repr__(self):
            return "\n".join(self._files())

    class ProgressBar:
        """How far something is."""

        def __init__(self, total):
            self.total, self._progress = total, 0
            self.html_width, self.text_width = "60ex", 60
            self._display_id = os.urandom(8).hex()

        def __repr__(self):
            done = int(self.text_width * self._progress / self.total) if self.total else 0
            return "[%s%s] %s/%s" % ("=" * done, " " * (self.text_width - done), self._progress, self.total)

        def _repr_html_(self):
            return "<progress style='width:%s' max='%s' value='%s'></progress>" % (
                self.html_width,
                self.total,
                self._progress,
            )

        def display(self):
            """Shows it."""
            display(self, display_id=self._display_id)

        def update(self):
            """Shows how far it is now."""
            update_display(self, display_id=self._display_id)

        @property
        def progress(self):
            """Steps done."""
            return self._progress

        @progress.setter
        def progress(self, value):
            self._progress = value
            self.update()

        def __iter__(self):
            self.display()
            self._progress = -1
            return self

        def __next__(self):
            self.progress += 1
            if self.progress < self.total:
                return self.progress
            raise StopIteration

    kinds = (
        DisplayObject,
        TextDisplayObject,
        Pretty,
        HTML,
        Markdown,
        Latex,
        Math,
        SVG,
        JSON,
        GeoJSON,
        Javascript,
        Image,
        Video,
        Audio,
        Code,
        IFrame,
        YouTubeVideo,
        VimeoVideo,
        FileLink,
        FileLinks,
        ProgressBar,
    )
    in_library = (Audio, Code, IFrame, YouTubeVideo, VimeoVideo, FileLink, FileLinks)
    for kind in kinds:
        kind.__module__ = "IPython.lib.display" if kind in in_library else "IPython.core.display"
        kind.__qualname__ = kind.__name__
        setattr(module, kind.__name__, kind)
    GeoJSON.__module__ = "IPython.display"
    for function in DISPLAY_FUNCTIONS:
        setattr(module, function.__name__, function)

    def display_as(mime):
        def show(*values, raw=False, metadata=None, **_keys):
            for value in values:
                if raw:
                    publish_display_data({mime: value}, {mime: metadata} if metadata else None)
                else:
                    display(value, include=[mime], metadata=metadata)

        return show

    names = {
        "pretty": "text/plain",
        "html": "text/html",
        "markdown": "text/markdown",
        "svg": "image/svg+xml",
        "png": "image/png",
        "jpeg": "image/jpeg",
        "webp": "image/webp",
        "latex": "text/latex",
        "json": "application/json",
        "javascript": "application/javascript",
        "pdf": "application/pdf",
    }
    for name, mime in names.items():
        setattr(module, "display_" + name, display_as(mime))
    module.set_matplotlib_formats = lambda *formats, **_keys: figures.choose(formats)
    module.set_matplotlib_close = lambda *_arguments: None
    module.__all__ = (
        [kind.__name__ for kind in kinds]
        + [function.__name__ for function in DISPLAY_FUNCTIONS]
        + ["display_" + name for name in names]
        + ["set_matplotlib_formats", "set_matplotlib_close"]
    )


# --- Figures --------------------------------------------------------------------------------------

FIGURES = "module://cellist_figures"
# What matplotlib can draw for: a window or a page that answers, or a file.
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
        matplotlib.use(FIGURES)
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
        formatters = runner.shell.display_formatter.formatters
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
        """One figure as an image, cut to what is drawn; nothing for an empty one."""
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
        """Shows all figures that are open, and closes them: what `plt.show()` does here."""
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
        """Shows what the cell left open."""
        drawn, self.drawn = self.drawn, False
        matplotlib = sys.modules.get("matplotlib")
        if drawn and matplotlib is not None and "matplotlib.pyplot" in sys.modules and "cellist_figures" in sys.modules:
            if matplotlib.get_backend() == FIGURES:
                self.show()


figures = Figures()


@stand_in("cellist_figures")
def _fill_figures(module):
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


# --- Tasks ----------------------------------------------------------------------------------------


class Tasks:
    """The event loop of the cells: made when asyncio is imported, kept turning between cells.

    While a cell runs plain code the loop counts as running, so that `asyncio.create_task` works at the top
    level; what it starts goes on when a cell awaits and between cells.
    """

    def __init__(self):
        self.loop = None
        self.in_cell = False
        # Whether the loop is run by us, and whether that is between cells.
        self.runs = False
        self.turning = False

    def prepare(self):
        """Makes the loop, if a cell may want one."""
        asyncio = sys.modules.get("asyncio")
        if asyncio is None or not hasattr(asyncio, "new_event_loop"):
            return
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
            if not hasattr(asyncio.run, "__wrapped__"):
                asyncio.run = asyncio.runners.run = self._outside(asyncio.run)
                kind = getattr(asyncio, "Runner", None)
                if kind is not None:
                    kind.run = self._outside(kind.run)
        if self.in_cell:
            self._pretend(asyncio, True)

    def _pretend(self, asyncio, runs):
        """Makes the loop look as if it ran, or no longer: cells count as a part of it."""
        asyncio._set_running_loop(self.loop if runs else None)
        try:
            # What asyncio's own loops go by.
            self.loop._thread_id = MAIN_THREAD if runs else None
        except AttributeError:
            pass

    def _run(self, function, *arguments):
        """Runs the loop."""
        asyncio = sys.modules["asyncio"]
        self._pretend(asyncio, False)
        self.runs = True
        try:
            return function(*arguments)
        finally:
            self.runs = False
            if self.in_cell:
                self._pretend(asyncio, True)

    def _outside(self, function):
        """Lets code of a cell run a loop of its own, as it could in a script."""

        def run(*arguments, **keys):
            asyncio = sys.modules["asyncio"]
            outer = asyncio._get_running_loop()
            if outer is None or outer is not self.loop or self.runs:
                return function(*arguments, **keys)
            asyncio._set_running_loop(None)
            try:
                return function(*arguments, **keys)
            finally:
                if self.in_cell:
                    asyncio._set_running_loop(outer)
                asyncio.set_event_loop(outer)

        interrupts.loop_codes.add(run.__code__)
        return library("functools").wraps(function)(run)

    def enter(self):
        """A cell begins."""
        self.in_cell = True
        if "asyncio" in sys.modules:
            self.prepare()

    def leave(self):
        """A cell ended."""
        self.in_cell = False
        if self.loop is not None:
            self._pretend(sys.modules["asyncio"], False)

    def wait(self, coroutine):
        """Runs the coroutine of a cell with `await` at its top level."""
        if self.loop is None or self.loop.is_closed():
            library("asyncio")
            self.prepare()
        task = self.loop.create_task(coroutine)
        interrupts.loop, interrupts.task = self.loop, task
        try:
            return self._run(self.loop.run_until_complete, task)
        finally:
            interrupts.task = None
            if not task.done():
                # An interrupt that landed in another task's code, or SystemExit there.
                task.cancel()
                try:
                    self._run(self.loop.run_until_complete, task)
                except BaseException:
                    pass

    def turn_once(self):
        """Between cells: lets tasks go on that can, even where the next request has come."""
        if getattr(self.loop, "_ready", None):
            self.loop.call_soon(self.loop.stop)
            self.turn()

    def turn(self):
        """Between cells: lets tasks go on until a request comes."""
        self.turning = True
        try:
            self._run(self.loop.run_forever)
        except BaseException as error:
            runner.report(error)
        finally:
            self.turning = False

    def wake(self):
        """From another thread: a request came."""
        loop = self.loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._stop_turning)
            except RuntimeError:
                pass

    def _stop_turning(self):
        # The cell may have begun by now, and then it is the loop of the cell.
        if self.turning:
            self.loop.stop()


interrupts.loop_codes.add(Tasks._run.__code__)


# --- Magics in the source -------------------------------------------------------------------------


def python_source(source):
    """A cell as Python: magics become calls, line for line.

    A magic stands where a statement could begin: not inside a string, nor inside brackets, nor on a continued
    line.
    """
    source = dedented(source)
    body = source.lstrip("\n\r\t ")
    if body.startswith("%%"):
        return cell_magic_call(body) or source
    pieces = []
    lines = source.splitlines(True)
    state = ScanState()
    at = 0
    while at < len(lines):
        line = lines[at]
        count = 1
        if state.at_statement():
            text = line.strip()
            while text.endswith("\\") and at + count < len(lines) and may_be_magic(text):
                text = text[:-1] + lines[at + count].strip()
                count += 1
            call = line_magic_call(text)
            if call is not None:
                indent = line[: len(line) - len(line.lstrip())]
                pieces.append(indent + call + "\n" * count)
                at += count
                continue
        state.scan(line)
        pieces.append(line)
        at += 1
    return "".join(pieces)


def dedented(source):
    """The source without the indentation of its first line."""
    first = re.match(r"(?:[ \t]*\r?\n)*([ \t]+)(?=\S)", source)
    if first is None:
        return source
    indent = first.group(1)
    lines = source.splitlines(True)
    return "".join(line[len(indent) :] if line.startswith(indent) else line for line in lines)


class ScanState:
    """Where a line of Python ends: inside a string, inside brackets, or continued."""

    def __init__(self):
        self.quote = None
        self.depth = 0
        self.continued = False

    def at_statement(self):
        """Whether a statement can begin here."""
        return self.quote is None and self.depth == 0 and not self.continued

    def scan(self, line):
        """Goes over one line."""
        self.advance(line)
        if self.quote is not None and len(self.quote) == 1 and not line.rstrip("\r\n").endswith("\\"):
            # Not closed: an error that Python will report. It must not swallow the rest of the cell.
            self.quote = None

    def advance(self, line):
        """Goes over a line, or the beginning of one."""
        self.continued = False
        at, end = 0, len(line)
        while at < end:
            if self.quote is not None:
                if line[at] == "\\":
                    at += 2
                elif line.startswith(self.quote, at):
                    at += len(self.quote)
                    self.quote = None
                else:
                    at += 1
                continue
            character = line[at]
            if character == "#":
                break
            if character in "\"'":
                triple = character * 3
                self.quote = triple if line.startswith(triple, at) else character
                at += len(self.quote)
                continue
            if character in "([{":
                self.depth += 1
            elif character in ")]}":
                self.depth = max(self.depth - 1, 0)
            elif character == "\\" and line[at + 1 :].strip("\r\n") == "":
                self.continued = True
            at += 1


HELP = r"(?P<before>\?{0,2})(?P<name>%{0,2}[A-Za-z_*][\w.*]*(?:\[[^\]]*\])*)(?P<after>\?{0,2});?"


def may_be_magic(text):
    """Whether a line looks like a magic, so that the lines that it is continued on belong to it."""
    return text.startswith(("%", "!", "?")) or assignment(text) is not None


def assignment(text):
    """The parts of `target = !command` and `target = %magic`; none if it is neither."""
    for sign in re.finditer("=", text):
        at = sign.start()
        target, value = text[:at], text[at + 1 :].lstrip()
        state = ScanState()
        state.advance(target)
        if state.at_statement():
            simple = target.strip() and target[-1] not in "=!<>:+-*/%&|^@" and text[at + 1 : at + 2] != "="
            return (
                (target.rstrip(), value[0], value[1:].strip()) if simple and value[:1] in ("!", "%") else None
            )
    return None


def line_magic_call(text):
    """The call that a line stands for; none if it is no magic."""
    if not text or text.startswith("#"):
        return None
    if text[0] == "!":
        if text.startswith("!!"):
            return "get_ipython().getoutput(%r)" % text[2:].strip()
        return "get_ipython().system(%r)" % text[1:].strip()
    if text.startswith("?") or text.endswith(("?", "?;")):
        found = re.fullmatch(HELP, text)
        if found is not None and (found.group("before") or found.group("after")):
            detail = "??" in (found.group("before"), found.group("after"))
            return "get_ipython().run_line_magic(%r, %r)" % (
                "pinfo2" if detail else "pinfo",
                found.group("name"),
            )
    if text[0] == "%":
        found = re.match(r"%([A-Za-z_]\w*)\s*(.*)", text, re.S)
        return found and "get_ipython().run_line_magic(%r, %r)" % found.groups()
    found = assignment(text)
    if found is None:
        return None
    target, sign, rest = found
    if sign == "!":
        return "%s = get_ipython().getoutput(%r)" % (target, rest)
    magic = re.match(r"([A-Za-z_]\w*)\s*(.*)", rest, re.S)
    return magic and "%s = get_ipython().run_line_magic(%r, %r)" % ((target,) + magic.groups())


def cell_magic_call(body):
    """The call that a cell with `%%name` at its head stands for."""
    head, _, rest = body.partition("\n")
    found = re.match(r"%%([A-Za-z_!][\w.]*)\s*(.*)", head.rstrip())
    if found is None:
        return None
    if rest and not rest.endswith("\n"):
        rest += "\n"
    return "get_ipython().run_cell_magic(%r, %r, %r)\n" % (found.group(1), found.group(2), rest)


def has_magic_signs(source):
    """Whether it is worth looking for magics in source that Python refused."""
    return "%" in source or "!" in source or "?" in source


# --- The shell that programs ask for --------------------------------------------------------------


def descendants(process):
    """What a process started, and what those started, also in sessions of their own; only Linux tells."""
    found = []
    for task in os.listdir("/proc/%d/task" % process):
        with open("/proc/%d/task/%s/children" % (process, task)) as children:
            for child in map(int, children.read().split()):
                found += descendants(child) + [child]
    return found


class UsageError(Exception):
    """A magic that does not exist, or was used wrongly."""

    __module__ = "IPython.core.error"


def not_supported(what):
    """The error for what only IPython itself can do."""
    return UsageError("%s is not supported by the runner: use `--backend jupyter`." % what)


class StdinNotImplementedError(NotImplementedError):
    """Somebody asked for input, and there is nobody to give it."""

    __module__ = "IPython.core.error"


def _no_input(what):
    runner.outlet.send("input_requested")
    raise StdinNotImplementedError("%s was called, but this frontend does not support input requests." % what)


def no_input(prompt="", /):
    """What `input` does here: it fails at once."""
    _no_input("raw_input")


def no_getpass(prompt="Password: ", stream=None, **_keys):
    """What `getpass` does here: it fails at once."""
    _no_input("getpass")


class ZMQExitAutocall:
    """`exit` and `quit`: the cell goes on, and the kernel ends after it."""

    __module__ = "IPython.core.autocall"

    def __call__(self, keep_kernel=False):
        runner.shell.exit_now = not keep_kernel


class Events:
    """Functions that libraries want called around cells."""

    NAMES = ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell", "shell_initialized")

    def __init__(self):
        self.callbacks = {name: [] for name in self.NAMES}

    def register(self, event, function):
        """Registers a function."""
        if function not in self.callbacks[event]:
            self.callbacks[event].append(function)

    def unregister(self, event, function):
        """Forgets a function."""
        self.callbacks[event].remove(function)

    def trigger(self, event, *arguments):
        """Calls the functions."""
        for function in list(self.callbacks[event]):
            try:
                function(*arguments)
            except Exception as error:
                print("Error in callback %r (for %s):" % (function, event), file=sys.stderr)
                runner.show_error(error)


class OutputList(list):
    """The lines that a command printed."""

    @property
    def l(self):  # noqa: E743 - its name in IPython
        """As a list."""
        return list(self)

    @property
    def n(self):
        """As one text."""
        return "\n".join(self)

    nlstr = n
    list = l

    @property
    def s(self):
        """As one line."""
        return " ".join(self)

    spstr = s

    def grep(self, pattern, prune=False):
        """The lines in which a regular expression is found."""
        return OutputList(line for line in self if bool(re.search(pattern, line, re.I)) != prune)

    def fields(self, *numbers):
        """Some of the words of each line."""
        if not numbers:
            return [line.split() for line in self]
        rows = [line.split() for line in self]
        return OutputList(" ".join(row[at] for at in numbers if -len(row) <= at < len(row)) for row in rows)


def system_shell():
    """The user's own shell, where there is one."""
    shell = os.environ.get("SHELL") or ""
    return shell if os.path.isabs(shell) and os.access(shell, os.X_OK) else "/bin/sh"


def open_terminal():
    """A terminal of the usual size, or where there are none a pipe: the end to read, and the one to write."""
    try:
        ours, its = os.openpty()
    except OSError:
        return os.pipe()
    size = library("struct").pack("HHHH", 24, 80, 0, 0)
    library("fcntl").ioctl(its, library("termios").TIOCSWINSZ, size)
    return ours, its


def print_page(text, *_arguments, **_keys):
    """Shows a text of several pages: all of it."""
    print(text.get("text/plain", "") if isinstance(text, dict) else text)


class Commands:
    """Starts a command; ends it when the user interrupts, and keeps our ways out of the traceback."""

    def __init__(self):
        self.process = None

    def __enter__(self):
        return self

    def start(self, *arguments, **keys):
        """Starts the command."""
        self.process = library("subprocess").Popen(*arguments, **keys)
        return self.process

    def __exit__(self, kind, _error, _traceback):
        if kind is not KeyboardInterrupt:
            return
        if self.process is not None:
            try:
                # It got the signal too.
                self.process.wait(1)
            except BaseException:
                self.process.kill()
                self.process.wait()
        raise KeyboardInterrupt from None


INTERACTIVITIES = ("all", "last", "last_expr", "last_expr_or_assign", "none")


class ZMQInteractiveShell:
    """What `get_ipython()` returns. By the name of its class libraries see that they are in a notebook."""

    def __init__(self, namespace, module):
        self.user_ns = namespace
        self.user_module = module
        self.user_global_ns = namespace
        self.display_formatter = DisplayFormatter()
        self.display_pub = DisplayPublisher()
        self.events = Events()
        # Where IPython's own magics show long texts.
        self.hooks = types.SimpleNamespace(show_in_pager=print_page)
        self.config = {"IPKernelApp": {}}
        self.registered = {"line": {}, "cell": {}}
        self.last_error = None
        self.full_shell = None
        self.programs = []
        self.reloads = None
        self.colors = "nocolor"
        self.automagic = True
        # Whether the kernel is to end after the cell.
        self.exit_now = False
        self.xmode = "Context"
        self.ast_transformers = []
        self.input_transformers_post = []
        self.input_transformers_cleanup = []
        self.meta = {}
        self.banner1 = ""

    def __repr__(self):
        return "<%s.ZMQInteractiveShell at 0x%x>" % (__name__, id(self))

    # What libraries ask for.

    # Which statements of a cell show their values: `all`, `last`, `last_expr`, `last_expr_or_assign`, `none`.
    ast_node_interactivity = "last_expr"

    def interactivity(self):
        """What was chosen for this shell, or for all shells by way of IPython's own class."""
        chosen = self.__dict__.get("ast_node_interactivity")
        module = sys.modules.get("IPython.core.interactiveshell")
        if chosen is None and module is not None:
            chosen = vars(module.InteractiveShell).get("ast_node_interactivity")
        return chosen if chosen in INTERACTIVITIES else "last_expr"

    @classmethod
    def instance(cls, *_arguments, **_keys):
        """The shell."""
        return runner.shell

    @classmethod
    def initialized(cls):
        """Whether there is a shell."""
        return True

    @property
    def execution_count(self):
        """The number of the cell that runs."""
        return runner.count

    @property
    def displayhook(self):
        """What shows the value of the last expression."""
        return sys.displayhook

    def get_ipython(self):
        """Itself."""
        return self

    def push(self, variables, interactive=True):
        """Sets variables."""
        if isinstance(variables, str):
            variables = variables.split()
        if isinstance(variables, dict):
            self.user_ns.update(variables)

    def ev(self, expression):
        """The value of an expression."""
        return eval(expression, self.user_ns)

    def ex(self, code):
        """Runs statements."""
        exec(code, self.user_ns)

    def run_cell(self, source, store_history=False, silent=False, **_keys):
        """Runs a cell inside the running one."""
        runner.run_source(source, "<string>", not silent)
        return types.SimpleNamespace(success=True, result=None, raise_error=lambda: None)

    def enable_gui(self, _gui=None):
        """No toolkit's event loop is run."""

    def enable_matplotlib(self, _gui=None):
        """Figures are shown in any case."""
        return None, "inline"

    def set_next_input(self, _text, replace=False):
        """There is no next cell to fill."""

    def set_custom_exc(self, _kinds, _handler):
        """Errors are shown as they are."""

    def showtraceback(self, exc_info=None, **_keys):
        """Shows an error without ending the cell."""
        error = exc_info[1] if exc_info else sys.exc_info()[1]
        if error is not None:
            runner.show_error(error)

    def showsyntaxerror(self, *_arguments, **_keys):
        """Shows an error without ending the cell."""
        self.showtraceback()

    def transform_cell(self, source):
        """A cell as Python."""
        return python_source(source)

    def find_magic(self, name, magic_kind="line"):
        """The function of a magic."""
        return self._magic(magic_kind, name)

    find_line_magic = find_magic

    def find_cell_magic(self, name):
        """The function of a cell magic."""
        return self._magic("cell", name)

    def register_magic_function(self, function, magic_kind="line", magic_name=None):
        """Adds a magic."""
        name = magic_name or function.__name__
        for kind in ("line", "cell"):
            if magic_kind in (kind, "line_cell"):
                self.registered[kind][name] = function

    def register_magics(self, *classes):
        """Adds the magics of IPython's own kind of class, by asking IPython's own shell."""
        self._full().register_magics(*classes)

    def magic(self, line):
        """The old way to run a magic."""
        name, _, rest = line.lstrip("%").partition(" ")
        return self.run_line_magic(name, rest)

    # Running magics.

    def run_line_magic(self, name, line="", _stack_depth=1):
        """Runs `%name line`."""
        function = self._magic("line", name)
        if function is None:
            return self._run_elsewhere("line", name, line, None)
        if name not in ("time", "timeit", "prun", "capture", "pinfo", "pinfo2"):
            line = self.var_expand(line)
        return function(line)

    def run_cell_magic(self, name, line, cell):
        """Runs `%%name line` with the rest of the cell."""
        function = self._magic("cell", name)
        if function is None:
            return self._run_elsewhere("cell", name, line, cell)
        if name not in ("time", "timeit", "prun", "capture"):
            line = self.var_expand(line)
        return function(line, cell)

    def _magic(self, kind, name):
        return self.registered[kind].get(name) or getattr(self, "%s_%s" % (kind, name), None)

    def _run_elsewhere(self, kind, name, line, cell):
        """A magic that is not ours: IPython may be there and know it."""
        shell = self._full() if find_spec("IPython", None, None) is not None else None
        if shell is not None and shell.find_magic(name, kind) is not None:
            try:
                if kind == "line":
                    return shell.run_line_magic(name, line, _stack_depth=3)
                return shell.run_cell_magic(name, line, cell)
            except AttributeError as error:
                if "'ZMQInteractiveShell' object has no attribute" not in str(error):
                    raise
                raise not_supported(("%" if kind == "line" else "%%") + name) from None
        if kind == "line":
            text = "Line magic function `%%%s` not found." % name
            if self._magic("cell", name) is not None:
                text += " But cell magic `%%%%%s` exists, did you mean that instead?" % name
        else:
            text = "Cell magic `%%%%%s` not found." % name
            if self._magic("line", name) is not None:
                text += " But line magic `%%%s` exists, did you mean that instead?" % name
        raise UsageError(text)

    def _full(self):
        """IPython's own shell on the same variables, made when a magic of its own is asked for."""
        if self.full_shell is None:
            from IPython.core.interactiveshell import InteractiveShell
            from traitlets.config import Config

            kept = {name: self.user_ns.get(name) for name in RUNNER_NAMES}
            streams, main, hook = (sys.stdout, sys.stderr), sys.modules["__main__"], sys.displayhook
            config = Config()
            config.HistoryManager.enabled = False
            shell = InteractiveShell(config=config, user_module=self.user_module, user_ns=self.user_ns)
            shell.display_pub = self.display_pub
            sys.stdout, sys.stderr = streams
            sys.modules["__main__"], sys.displayhook = main, hook
            builtins.display, builtins.get_ipython = display, get_ipython
            self.user_ns.update(kept)
            for name in ("get_ipython", "exit", "quit", "open"):
                self.user_ns.pop(name, None)
            self.full_shell = shell
        return self.full_shell

    def var_expand(self, text, depth=0):
        """Puts values of variables in place of `$name` and `{expression}`."""
        if "$" not in text and "{" not in text:
            return text
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_filename == HERE:
            frame = frame.f_back
        local = frame.f_locals if frame is not None else {}

        def value(expression):
            made = eval(expression, self.user_ns, dict(local))
            return made if isinstance(made, str) else str(made)

        def replace(found):
            whole, braced, name = found.group(0), found.group(1), found.group(2)
            if whole in ("{{", "}}"):
                return whole[0]
            if whole.startswith("$$"):
                return whole[1:]
            if name is not None and text.count("'", found.end()) % 2:
                return whole
            try:
                return value(braced if braced is not None else name)
            except Exception:
                return whole

        return re.sub(r"\{\{|\}\}|\{([^{}]+)\}|\$\$\w+|\$([A-Za-z_][\w.]*)", replace, text)

    # Commands.

    def system(self, command):
        """Runs a command of the system's shell; what it prints is shown."""
        command = self.var_expand(command)
        if command.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        code = self._run_on_terminal([system_shell(), "-c", command])
        # A shell says 128 and its number of a signal that ended a command.
        self.user_ns["_exit_code"] = 128 - code if code > 128 else code

    def getoutput(self, command, split=True, depth=0):
        """Runs a command and returns the lines that it printed."""
        subprocess = library("subprocess")
        command = self.var_expand(command)
        with Commands() as commands:
            process = commands.start(
                [system_shell(), "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            text = process.communicate()[0].decode("utf-8", "replace")
        self.user_ns["_exit_code"] = process.returncode
        return OutputList(text.splitlines()) if split else text

    def _run(self, command, text=None, kept=(False, False)):
        """Runs a command on our own output, or into `sys.stdout` where that is somebody else's.

        Returns its exit code and what is to be kept of its output and errors, rather than shown.
        """
        subprocess = library("subprocess")
        streams = sys.stdout, sys.stderr
        redirected = any(stream is not own for stream, own in zip(streams, runner.outlet.streams))
        out, err = (subprocess.PIPE if redirected or keep else None for keep in kept)
        with Commands() as commands:
            process = commands.start(
                command,
                stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
                stdout=out,
                stderr=err,
            )
            written = process.communicate(text)
        written = [(data or b"").decode("utf-8", "replace") for data in written]
        for data, stream, keep in zip(written, streams, kept):
            if data and not keep:
                stream.write(data)
        return process.returncode, written

    def _run_on_terminal(self, command):
        """Runs a command that sees a terminal as its output, as IPython does; returns its exit code."""
        subprocess, select = library("subprocess"), library("select")
        # There is nobody who could turn the pages.
        variables = dict(os.environ, TERM="xterm-color", PAGER="cat", GIT_PAGER="cat")
        decoder = library("codecs").getincrementaldecoder("utf-8")("replace")
        ends = []
        try:
            with Commands() as commands:
                ends += open_terminal()
                ours, its = ends
                process = commands.start(
                    command, stdin=subprocess.DEVNULL, stdout=its, stderr=its, env=variables
                )
                os.close(ends.pop())
                while True:
                    # What it left in the background may keep the terminal open.
                    ended = process.poll() is not None
                    if not select.select([ours], [], [], 0 if ended else 0.05)[0]:
                        if ended:
                            break
                        continue
                    try:
                        data = os.read(ours, 65536)
                    except OSError:
                        data = b""
                    if not data:
                        break
                    sys.stdout.write(decoder.decode(data))
                process.wait()
        finally:
            for end in ends:
                os.close(end)
        sys.stdout.write(decoder.decode(b"", True))
        return process.returncode

    # Line magics.

    def line_pip(self, line):
        """Runs pip for this Python."""
        if find_spec("pip", None, None) is None:
            raise UsageError("pip is not installed for %s. %s" % (sys.executable, how_to_get_pip()))
        self.system("%s -m pip %s" % (quoted(sys.executable), line))
        library("importlib").invalidate_caches()
        print("Note: you may need to restart the kernel to use updated packages.")

    def line_conda(self, line):
        """Runs conda for the environment of this Python."""
        words = [quoted(os.environ.get("CONDA_EXE") or "conda"), line]
        if line.split()[:1] and line.split()[0] in ("install", "update", "remove", "uninstall"):
            if "-p" not in line.split():
                words += ["--prefix", quoted(sys.prefix), "--yes"]
        self.system(" ".join(words))
        library("importlib").invalidate_caches()

    def line_uv(self, line):
        """Runs uv."""
        self.system("uv " + line)
        library("importlib").invalidate_caches()

    def line_cd(self, line):
        """Changes the working folder."""
        quiet = line.startswith("-q")
        folder = (line[2:] if quiet else line).strip().strip("'\"")
        visited = self.user_ns["_dh"]
        if folder == "-":
            if len(visited) < 2:
                raise UsageError("%cd -: No previous directory to change to.")
            folder = visited[-2]
        try:
            os.chdir(os.path.expanduser(folder or "~"))
        except OSError as error:
            print(error)
        else:
            if not visited or visited[-1] != os.getcwd():
                visited.append(os.getcwd())
        if not quiet:
            print(os.getcwd())

    def line_pwd(self, _line=""):
        """The working folder."""
        return os.getcwd()

    def line_env(self, line):
        """Shows or sets environment variables."""
        if not line.strip():
            return dict(os.environ)
        sign = "=" if "=" in line else " "
        name, found, value = line.partition(sign)
        name = name.strip()
        if found:
            return self.line_set_env(line)
        if name not in os.environ:
            raise UsageError("Environment does not have key: %s" % name)
        return os.environ[name]

    def line_set_env(self, line):
        """Sets an environment variable."""
        name, _, value = line.partition("=" if "=" in line else " ")
        name, value = name.strip(), value.strip()
        if not name or not line.strip() or re.search(r"\s", name):
            raise UsageError("refusing to set env var %r" % name)
        os.environ[name] = value
        print("env: %s=%s" % (name, value))

    def line_time(self, line):
        """Times a statement."""
        return self.cell_time("", line)

    def line_timeit(self, line):
        """Times a statement by running it often."""
        return self.cell_timeit(line, None)

    def line_run(self, line):
        """Runs a file, as a program or (`-i`) on the variables of the session."""
        words = library("shlex").split(line)
        shared = False
        while words and words[0].startswith("-"):
            option = words.pop(0)
            shared = shared or option == "-i"
            if option == "--":
                break
        if not words:
            raise UsageError("you must provide at least a filename.")
        path = os.path.expanduser(words[0])
        if not os.path.exists(path) and os.path.exists(path + ".py"):
            path += ".py"
        if not os.path.exists(path):
            raise Exception("File `%r` not found." % words[0])
        if path.endswith((".ipynb", ".ipy")):
            return self._run_cells(path)
        module = types.ModuleType("__main__")
        namespace = self.user_ns if shared else module.__dict__
        with library("io").open_code(os.path.abspath(path)) as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        kept = sys.argv, sys.modules["__main__"], list(sys.path)
        sys.argv = [path] + words[1:]
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
        namespace["__file__"] = path
        if not shared:
            sys.modules["__main__"] = module
        try:
            exec(code, namespace)
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
        finally:
            sys.argv, sys.modules["__main__"], sys.path[:] = kept
            if shared:
                namespace.pop("__file__", None)
            else:
                names = {name: value for name, value in namespace.items() if not re.fullmatch("__.*__", name)}
                self.user_ns.update(names)
                # Functions of the program keep using its own variables.
                self.programs.append(module)
        return None

    def _run_cells(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.endswith(".ipy"):
            return runner.run_source(text, path, False)
        for cell in json.loads(text).get("cells", []):
            if cell.get("cell_type") == "code":
                source = cell.get("source", "")
                runner.run_source("".join(source), path, False)
        return None

    def line_load_ext(self, line):
        """Loads an extension of IPython's, as far as it can be."""
        name = line.strip()
        if not name:
            raise UsageError("Missing module name.")
        if name == "autoreload":
            self.reloads = self.reloads or Reloads()
            return None
        module = library("importlib").import_module(name)
        load = getattr(module, "load_ipython_extension", None)
        if load is not None:
            try:
                load(self)
            except Exception as error:
                print(
                    "The extension %s was not loaded: %s: %s" % (name, type(error).__name__, error),
                    file=sys.stderr,
                )
        return None

    line_reload_ext = line_load_ext

    def line_unload_ext(self, _line):
        """Nothing to take away."""

    def line_autoreload(self, line):
        """Reloads modules whose files have changed: `0` never, `1` or `2` before each cell, nothing: now."""
        self.reloads = self.reloads or Reloads()
        mode = line.strip().lower()
        if mode in ("", "now"):
            self.reloads.run()
        else:
            self.reloads.on = mode not in ("0", "off")

    def line_matplotlib(self, line):
        """Figures are shown in any case, as images."""
        if "--list" in line or "-l" in line.split():
            print("Available matplotlib backends: ['inline']")
            return
        name = line.strip().strip("'\"")
        if name in ("", "inline"):
            figures.wanted = True
            if "matplotlib.pyplot" in sys.modules:
                figures.take_over()
        elif name.lower() in WINDOWS:
            print(
                "%%matplotlib %s is not supported by the runner, which shows figures as images: "
                "use `--backend jupyter`." % name,
                file=sys.stderr,
            )
        elif name.lower() in DRAWN or name.startswith("module://"):
            library("importlib").import_module("matplotlib").use(name)
        else:
            raise RuntimeError("%r is not a recognised GUI loop or backend name" % name)

    def line_pylab(self, _line):
        """Imports numpy and pyplot under their usual names."""
        exec("import numpy as np\nimport matplotlib.pyplot as plt", self.user_ns)

    def line_config(self, line):
        """Understands how figures are made; other settings have nothing to set here."""
        found = re.match(r"InlineBackend\.figure_formats?\s*=\s*(.+)", line.strip())
        if found is not None:
            made = eval(found.group(1), self.user_ns)
            figures.choose([made] if isinstance(made, str) else list(made))
            return
        found = re.match(r"\w*InteractiveShell\.(\w+)\s*=\s*(.+)", line.strip())
        if found is not None and found.group(1) in ("ast_node_interactivity", "automagic"):
            setattr(self, found.group(1), eval(found.group(2), self.user_ns))

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
        self.display_formatter.formatters["text/plain"].float_format = made
        return made

    def line_xmode(self, line):
        """How much of a traceback is shown."""
        mode = (line.strip() or "Context").capitalize()
        if mode in ("Verbose", "Docs"):
            raise not_supported("%%xmode %s" % mode)
        if mode not in ("Plain", "Context", "Minimal"):
            print("Unrecognized mode: %s. Valid modes: Plain, Context, Minimal" % mode, file=sys.stderr)
            return
        self.xmode = mode
        print("Exception reporting mode: %s" % mode)

    def line_automagic(self, line=""):
        """Whether magics are found without their percent sign."""
        choice = line.strip().lower()
        self.automagic = choice in ("on", "1", "true") if choice else not self.automagic
        state = "ON, % prefix IS NOT" if self.automagic else "OFF, % prefix IS"
        print("\nAutomagic is %s needed for line magics." % state)

    def line_autosave(self, line):
        """Tells whoever shows the notebook how often to save it."""
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

    def _not_supported(name):
        def run(self, line="", cell=None):
            raise not_supported("%" + name)

        run.__doc__ = "Not supported here."
        return run

    line_doctest_mode, line_autocall = _not_supported("doctest_mode"), _not_supported("autocall")
    line_logstart, line_logstop = _not_supported("logstart"), _not_supported("logstop")
    line_debug, line_pdb = _not_supported("debug"), _not_supported("pdb")
    del _not_supported

    def _names(self, kinds):
        kinds = kinds.split()
        return sorted(
            name
            for name, value in self.user_ns.items()
            if not name.startswith("_")
            and name not in RUNNER_NAMES
            and name not in runner.hidden_names
            and (not kinds or type(value).__name__ in kinds)
        )

    def _has_names(self, names, kinds):
        if not names:
            print("No variables match your requested type." if kinds else "Interactive namespace is empty.")
        return bool(names)

    def line_who(self, line=""):
        """Prints the names of variables, of all or of the given types."""
        names = self._names(line)
        if not self._has_names(names, line):
            return
        for at in range(0, len(names), 9):
            print("".join(name + "\t " for name in names[at : at + 9]))

    def line_who_ls(self, line=""):
        """The names of variables, of all or of the given types."""
        return self._names(line)

    def line_whos(self, line=""):
        """Prints variables with their types and values, all or those of the given types."""
        names = self._names(line)
        if not self._has_names(names, line):
            return
        rows = []
        for name in names:
            value = self.user_ns[name]
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple):
                text = "shape: %s" % (shape,)
            elif isinstance(value, (list, tuple, dict, set)):
                text = "n=%d" % len(value)
            else:
                text = plain_text(value).replace("\n", " ")
            rows.append((name, type(value).__name__, text[:60]))
        widths = [max(len(row[at]) for row in rows + [("Variable", "Type", "")]) for at in (0, 1)]
        print("%-*s   %-*s   Data/Info" % (widths[0], "Variable", widths[1], "Type"))
        print("-" * (sum(widths) + 15))
        for row in rows:
            print("%-*s   %-*s   %s" % (widths[0], row[0], widths[1], row[1], row[2]))

    def line_history(self, line=""):
        """Prints earlier cells."""
        numbered = "-n" in line.split()
        for number, source in enumerate(runner.raw_inputs[1:-1], 1):
            print("%4d: %s" % (number, source) if numbered else source)

    line_hist = line_history

    def line_lsmagic(self, _line=""):
        """Lists the magics."""
        lines, cells = magic_names("line"), magic_names("cell")
        return "Available line magics:\n%s\n\nAvailable cell magics:\n%s\n\nAutomagic is %s needed." % (
            "  ".join("%" + name for name in lines),
            "  ".join("%%" + name for name in cells),
            "ON, % prefix IS NOT" if self.automagic else "OFF, % prefix IS",
        )

    def line_reset(self, line=""):
        """Forgets all variables."""
        if "-f" not in line.split():
            raise UsageError("%reset forgets all variables: use `%reset -f` if you mean it.")
        runner.reset_namespace()

    def line_xdel(self, line):
        """Forgets a variable."""
        self.user_ns.pop(line.strip(), None)

    def line_tb(self, _line=""):
        """Shows the last error again."""
        if self.last_error is None:
            print("No traceback available to show.")
        else:
            runner.show_error(self.last_error)

    def line_pinfo(self, line, detail=False):
        """Prints what is known of a name."""
        text = describe_name(line.strip(), self.user_ns, detail)
        print(text if text is not None else "Object `%s` not found." % line.strip())

    def line_pinfo2(self, line):
        """Prints what is known of a name, with its source."""
        self.line_pinfo(line, True)

    line_psource = line_pinfo2
    line_pdoc = line_pdef = line_pfile = line_pinfo

    def line_capture(self, _line):
        """Only as a cell magic."""
        raise UsageError("%capture captures a whole cell: write `%%capture` on its first line.")

    def line_sx(self, line):
        """The lines that a command prints."""
        return self.getoutput(line)

    line_system = line_sx

    def line_alias_magic(self, line):
        """Another name for a magic."""
        words = [word.lstrip("%") for word in line.split() if not word.startswith("-")]
        for kind in ("line", "cell"):
            function = self._magic(kind, words[1]) if len(words) > 1 else None
            if function is not None:
                self.registered[kind][words[0]] = function

    # Cell magics.

    def cell_time(self, _line, cell):
        """Times the cell; its last value is still the result."""
        time = library("time")
        source = cell if not _line else _line + "\n" + cell
        parts = runner.compile_cell(source, "<timed exec>")
        wall, processor = time.perf_counter(), os.times()
        try:
            return runner.run_parts(parts)
        finally:
            after = os.times()
            wall = time.perf_counter() - wall
            user, system = after.user - processor.user, after.system - processor.system
            print(
                "CPU times: user %s, sys: %s, total: %s\nWall time: %s"
                % (time_text(user), time_text(system), time_text(user + system), time_text(wall))
            )

    def cell_timeit(self, line, cell):
        """Times code by running it often."""
        timeit, time = library("timeit"), library("time")
        options, rest = library("getopt").getopt(split_options(line), "n:r:t:cp:qov:")
        given = dict(options)
        if cell is None:
            setup, code = "pass", " ".join(rest)
        else:
            setup, code = " ".join(rest) or "pass", cell
        code, setup = python_source(code), python_source(setup)
        timer = timeit.Timer(code, setup, timer=time.perf_counter, globals=self.user_ns)
        loops = int(given.get("-n", 0)) or timer.autorange()[0]
        runs = int(given.get("-r", 7))
        times = [taken / loops for taken in timer.repeat(runs, loops)]
        mean = sum(times) / len(times)
        deviation = (sum((taken - mean) ** 2 for taken in times) / len(times)) ** 0.5
        if "-q" not in given:
            print(
                "%s ± %s per loop (mean ± std. dev. of %d run%s, %s loop%s each)"
                % (
                    time_text(mean),
                    time_text(deviation),
                    runs,
                    "" if runs == 1 else "s",
                    format(loops, ","),
                    "" if loops == 1 else "s",
                )
            )
        if "-o" in given:
            return types.SimpleNamespace(
                average=mean, stdev=deviation, best=min(times), all_runs=times, loops=loops
            )
        return None

    def cell_script(self, line, cell):
        """Runs the cell with a program; `--out` and `--err` name variables for what it prints."""
        names, command, raises = [None, None], [], True
        words = iter(library("shlex").split(line))
        for word in words:
            option, _, value = word.partition("=")
            if option in ("--out", "--err"):
                names[option == "--err"] = value or next(words, None)
            elif option in ("--no-raise-error", "--raise-error"):
                raises = option == "--raise-error"
            elif option in ("--bg", "--proc"):
                raise not_supported("%%%%script %s" % option)
            else:
                command.append(word)
        if not command:
            raise UsageError("%%script needs the name of a program.")
        try:
            code, written = self._run(command, cell.encode("utf-8"), [name is not None for name in names])
        except FileNotFoundError:
            print("Couldn't find program: %r" % command[0])
            return
        for name, text in zip(names, written):
            if name is not None:
                self.user_ns[name] = text
        if code and raises:
            raise library("subprocess").CalledProcessError(code, cell.encode("utf-8"))

    def cell_bash(self, line, cell):
        """Runs the cell with bash."""
        self.cell_script("bash " + line, cell)

    def cell_sh(self, line, cell):
        """Runs the cell with sh."""
        self.cell_script("sh " + line, cell)

    def cell_python(self, line, cell):
        """Runs the cell with a new Python."""
        self.cell_script("%s %s" % (quoted(sys.executable), line), cell)

    cell_python3 = cell_python

    def cell_perl(self, line, cell):
        """Runs the cell with perl."""
        self.cell_script("perl " + line, cell)

    def cell_ruby(self, line, cell):
        """Runs the cell with ruby."""
        self.cell_script("ruby " + line, cell)

    def cell_system(self, line, cell):
        """Runs the cell with the system's shell and returns the lines that it printed."""
        return self.getoutput(line + "\n" + cell if line else cell)

    cell_sx = cell_system
    locals()["cell_!"] = cell_system

    def cell_writefile(self, line, cell):
        """Writes the cell into a file."""
        words = library("shlex").split(line)
        append = "-a" in words or "--append" in words
        names = [word for word in words if word not in ("-a", "--append")]
        if len(names) != 1:
            raise UsageError("%%writefile needs the name of one file.")
        path = os.path.expanduser(names[0])
        exists = os.path.exists(path)
        print(
            "%s %s" % ("Appending to" if exists and append else "Overwriting" if exists else "Writing", path)
        )
        with open(path, "a" if append else "w", encoding="utf-8") as file:
            file.write(cell)

    cell_file = cell_writefile

    def cell_capture(self, line, cell):
        """Keeps what the cell prints and displays, in a variable if one is named."""
        words = line.split()
        names = [word for word in words if not word.startswith("-")]
        captured = Captured(*("--no-" + what not in words for what in ("stdout", "stderr", "display")))
        with captured:
            runner.run_source(cell, runner.cell_name, True)
        if names:
            self.user_ns[names[0]] = captured

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


def _add_commands():
    """`%ls` and the like: commands of the system under their own names."""

    def add(name, command):
        def run(self, line=""):
            self.system(command.replace("%l", line) if "%l" in command else "%s %s" % (command, line))

        run.__doc__ = "Runs `%s`." % command
        setattr(ZMQInteractiveShell, "line_" + name, run)

    for name in ("mkdir", "rm", "rmdir", "mv", "cp", "cat", "man", "less", "more"):
        add(name, name)
    colour, long = ("--color", "-o") if sys.platform.startswith("linux") else ("-G", "-l")
    add("ls", "ls -F %s" % colour)
    add("ll", "ls -F %s %s" % (long, colour))
    for name, kind in (("lf", "^-"), ("lk", "^l"), ("ldir", "/$"), ("lx", "^-..x")):
        add(name, "ls -F %s %s %%l | grep %s" % (long, colour, kind))


_add_commands()


def get_ipython():
    """The shell."""
    return runner.shell


def magic_names(kind):
    """The names of all line or cell magics."""
    start = kind + "_"
    names = {name[len(start) :] for name in dir(ZMQInteractiveShell) if name.startswith(start)}
    return sorted(names | set(runner.shell.registered[kind]))


def split_options(line):
    """Words for getopt: the options in front, then the code as one word."""
    words, rest = [], line.strip()
    while rest.startswith("-"):
        word, _, rest = rest.partition(" ")
        words.append(word)
        rest = rest.lstrip()
        if len(word) == 2 and word[1] in "nrtpv":
            value, _, rest = rest.partition(" ")
            words.append(value)
            rest = rest.lstrip()
    return words + ["--", rest]


def time_text(seconds):
    """A duration with three digits that count, in the unit that fits."""
    if seconds >= 60:
        parts = []
        for unit, name in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
            value, seconds = divmod(seconds, unit)
            if value:
                parts.append("%d%s" % (value, name))
        return " ".join(parts)
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "μs")):
        if seconds >= unit:
            return "%.3g %s" % (seconds / unit, name)
    return "%.3g ns" % (seconds * 1e9) if seconds else "0 ns"


class Captured:
    """What a cell printed and displayed, kept instead of shown."""

    def __init__(self, stdout=True, stderr=True, display=True):
        self._wanted = stdout, stderr, display
        self._stdout, self._stderr, self.outputs = io.StringIO(), io.StringIO(), []

    def __enter__(self):
        self._kept = sys.stdout, sys.stderr, runner.shell.display_pub, sys.displayhook
        stdout, stderr, displays = self._wanted
        sys.stdout = self._stdout if stdout else sys.stdout
        sys.stderr = self._stderr if stderr else sys.stderr
        if displays:
            runner.shell.display_pub = CapturingPublisher(self.outputs)
            sys.displayhook = self._hook
        return self

    def __exit__(self, *_error):
        sys.stdout, sys.stderr, runner.shell.display_pub, sys.displayhook = self._kept

    def _hook(self, value):
        if value is not None:
            data, metadata = runner.shell.display_formatter.format(value)
            self.outputs.append(RichOutput(data, metadata))

    @property
    def stdout(self):
        """What was printed."""
        return self._stdout.getvalue()

    @property
    def stderr(self):
        """What was printed as errors."""
        return self._stderr.getvalue()

    def __str__(self):
        return self.stdout

    def show(self):
        """Shows it after all."""
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for output in self.outputs:
            output.display()

    __call__ = show


class RichOutput:
    """One display that was kept."""

    def __init__(self, data, metadata=None, transient=None, update=False):
        self.data, self.metadata, self.transient, self.update = data, metadata, transient, update

    def display(self):
        """Shows it."""
        publish_display_data(self.data, self.metadata, transient=self.transient, update=self.update)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data, self.metadata or {}


class CapturingPublisher:
    """Takes displays in place of the host."""

    def __init__(self, outputs):
        self.outputs = outputs

    def publish(self, data, metadata=None, source=None, transient=None, update=False, **_others):
        """Keeps one display."""
        self.outputs.append(RichOutput(data, metadata, transient, update))

    def clear_output(self, wait=False):
        """Forgets what was kept."""
        self.outputs.clear()


class Reloads:
    """Loads modules again whose files have changed."""

    def __init__(self):
        self.on = False
        self.times = {}
        self.run(look_only=True)

    def run(self, look_only=False):
        """Looks at every module that the user could have edited."""
        library_folder = os.path.dirname(os.__file__)
        for name, module in list(sys.modules.items()):
            path = getattr(module, "__file__", None)
            if not path or not path.endswith(".py") or name in ("__main__", __name__):
                continue
            if path.startswith(library_folder) or "site-packages" in path:
                continue
            try:
                changed = os.stat(path).st_mtime_ns
            except OSError:
                continue
            known = self.times.setdefault(name, changed)
            if changed != known and not look_only:
                self.times[name] = changed
                try:
                    library("importlib").reload(module)
                except Exception as error:
                    print("[autoreload of %s failed: %s]" % (name, error), file=sys.stderr)


# --- Errors ---------------------------------------------------------------------------------------


def how_to_get_pip():
    """What to do where pip is missing."""
    python = quoted(sys.executable)
    return "Run `%s -m ensurepip --upgrade`, or use `uv pip install --python %s NAME`." % (python, python)


def quoted(path):
    """A path for a command line."""
    return library("shlex").quote(path or "python3")


def error_fields(error):
    """An error as its name, its message and the lines of its traceback, without frames of ours."""
    name = type(error).__name__
    try:
        message = str(error)
    except Exception:
        message = "<the error's own text cannot be made>"
    try:
        lines = traceback_lines(error)
    except Exception as worse:
        lines = ["%s: %s" % (name, message), "(the traceback cannot be made: %r)" % worse]
    return {"name": name, "message": message, "traceback": lines}


def exit_status(error):
    """What a process that ends with this, or with nothing, exits with; says what it has to say, as Python does."""
    if error is None:
        return 0
    code = error.code if isinstance(error, SystemExit) else 1
    if code is None:
        return 0
    if not isinstance(code, int):
        print(code, file=sys.stderr)
        return 1
    return code & 0xFF


def traceback_lines(error):
    """The lines of a traceback."""
    traceback = library("traceback")
    if isinstance(error, SystemExit):
        return traceback.format_exception_only(type(error), error)[-1].splitlines()
    made = traceback.TracebackException(type(error), error, error.__traceback__)
    seen = set()

    def strip(part):
        if part is None or id(part) in seen:
            return
        seen.add(id(part))
        stack = [frame for frame in part.stack if frame.filename != HERE]
        # What is above the cell is the way we got there: through the event loop, for instance.
        first = next((at for at, frame in enumerate(stack) if frame.filename in runner.sources), 0)
        if stack[first:]:
            part.stack[:] = stack[first:]
        else:
            part.stack = None
            part.exc_traceback = None
        strip(part.__cause__)
        strip(part.__context__)
        for inner in getattr(part, "exceptions", None) or ():
            strip(inner)

    strip(made)
    text = "".join(made.format_exception_only() if runner.shell.xmode == "Minimal" else made.format())
    return text.rstrip("\n").split("\n")


# --- Running cells --------------------------------------------------------------------------------

# Results that are kept for later cells.
KEPT_RESULTS = 1000

# What a cell of one line may begin with to be a magic without its percent sign.
LONE_WORD = re.compile(r"([A-Za-z_]\w*)(?![\w.])[ \t]*(?!.*\n)")

RUNNER_NAMES = ("In", "Out", "_", "__", "___", "_i", "_ii", "_iii", "_ih", "_oh", "_dh")


class Cell:
    """One execution, and how far it is."""

    NEW, BEGUN, RUN, SHOWN = range(4)

    def __init__(self, request):
        self.execution = request["execution"]
        self.source = request["code"]
        self.hidden = bool(request.get("hidden"))
        self.variables = request.get("variables") or {}
        self.number = None
        self.filename = "<hidden>"
        self.ran = False
        self.error = None
        self.stage = Cell.NEW


class Runner:
    """Everything that lives as long as the process."""

    def __init__(self, requests, frames):
        self.descriptors = (requests, frames)
        self.pid = os.getpid()
        self.requests = SimpleQueue()
        # The request that is being worked on, if any, and its cell.
        self.taken = []
        self.cell = None
        self.state = _thread.allocate_lock()
        self.running = None
        # An execution that was taken and has not begun, and one that must not begin.
        self.queued = None
        self.cancelled = None
        self.count = 0
        self.sources = {}
        self.cell_name = "<cell>"
        # Whether the cell ends with what is shown now.
        self.ends = False
        self.raw_inputs = [""]
        self.future_flags = 0
        self.tasks = Tasks()
        self.outlet = None
        self.shell = None
        self.main = None
        self.namespace = None
        self.hidden_names = set()
        self.modules_seen = 0
        self.c_flush = None
        self.loaded_c_code = False

    # Setting up.

    def set_up(self, request):
        """Makes the place where the user's code lives."""
        self.outlet = Outlet(self.descriptors[1], request["token"])
        follow_threads(threading.Thread)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = self.outlet.streams
        self.main = types.ModuleType("__main__")
        self.main.__dict__["__builtins__"] = builtins
        self.namespace = self.main.__dict__
        sys.modules["__main__"] = self.main
        self.shell = ZMQInteractiveShell(self.namespace, self.main)
        self.reset_namespace()
        builtins.display = display
        builtins.get_ipython = get_ipython
        builtins.__IPYTHON__ = True
        builtins.input = no_input
        builtins.exit = builtins.quit = ZMQExitAutocall()
        sys.displayhook = self.show_result
        sys.ps1, sys.ps2 = "In : ", "...: "
        sys.argv = [""]
        sys.path[:] = [os.getcwd()] + [entry for entry in START_PATH if entry != ""]
        sys.meta_path.insert(0, hooks)
        for name in list(hooks.after):
            if name in sys.modules:
                hooks.after[name](sys.modules[name])
        _signal.signal(_signal.SIGINT, interrupts.handle)
        os.register_at_fork(
            before=self.outlet.before_fork,
            after_in_parent=self.outlet.after_fork,
            after_in_child=self.forked,
        )
        for name in ("system", "posix_spawn", "posix_spawnp"):
            if hasattr(os, name):
                setattr(os, name, self._separated(getattr(os, name)))
        try:
            import faulthandler

            faulthandler.enable(file=self.outlet.pipes[STDERR])
        except Exception:
            pass

    def _separated(self, function):
        def call(*arguments, **keys):
            self.outlet.separate()
            return function(*arguments, **keys)

        call.__name__, call.__doc__ = function.__name__, function.__doc__
        return call

    def reset_namespace(self):
        """An empty namespace, but for what a session always has."""
        namespace = self.namespace
        kept = {name: namespace.get(name) for name in ("__name__", "__doc__", "__builtins__")}
        hidden = {name: namespace[name] for name in self.hidden_names if name in namespace}
        inputs = namespace.get("In", [""])
        namespace.clear()
        namespace.update(kept)
        namespace.update({"__package__": None, "__loader__": None, "__spec__": None})
        namespace.update(hidden)
        namespace["In"] = namespace["_ih"] = inputs
        namespace["Out"] = namespace["_oh"] = {}
        namespace["_dh"] = [os.getcwd()]
        for name in ("_", "__", "___", "_i", "_ii", "_iii"):
            namespace[name] = ""
        self.unders = ["", "", ""]

    def forked(self):
        """In a forked child: it is no kernel."""
        for descriptor in self.descriptors:
            try:
                os.close(descriptor)
            except OSError:
                pass
        self.outlet.in_child()
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)

    def run_prelude(self, request):
        """Runs code of the host's and the user's modules; returns what is to be said about them."""
        notices = []
        prelude = request.get("prelude")
        if prelude:
            self._run_first("<prelude>", prelude, "the prelude", notices)
        for module in request.get("modules") or ():
            name, path = module["name"], module["path"]
            try:
                with open(path, "rb") as file:
                    source = library("importlib.util").decode_source(file.read())
            except (OSError, UnicodeError, SyntaxError) as error:
                notices.append("module %s was not loaded: %s" % (name, error))
                continue
            self._run_first(path, source, "module %s" % name, notices)
        self.hidden_names = {name for name in self.namespace if not name.startswith("__")} - set(RUNNER_NAMES)
        return notices

    def _run_first(self, filename, source, what, notices):
        self.sources[filename] = (len(source), None, source.splitlines(True), filename)
        try:
            exec(compile(source, filename, "exec", dont_inherit=True), self.namespace)
        except BaseException as error:
            fields = error_fields(error)
            where = ""
            if isinstance(error, SyntaxError):
                where = ", line %s" % error.lineno
            else:
                trace = error.__traceback__
                while trace is not None:
                    if trace.tb_frame.f_code.co_filename == filename:
                        where = ", line %d" % trace.tb_lineno
                    trace = trace.tb_next
            raised = "%s: %s" % (fields["name"], fields["message"]) if fields["message"] else fields["name"]
            notices.append("%s failed (%s%s): %s" % (what, filename, where, raised))

    # One cell.

    def execute(self, cell):
        """Runs one cell and says how it ended.

        Goes on where it was when it is called again: a signal handler of the program's may raise here too.
        """
        if cell.stage == Cell.NEW:
            self.begin(cell)
            cell.stage = Cell.BEGUN
        if cell.stage == Cell.BEGUN:
            cell.stage = Cell.RUN
            if cell.error is None:
                self.attempt(cell, lambda: self.run_cell(cell))
        if cell.stage == Cell.RUN:
            cell.stage = Cell.SHOWN
            self.show_end(cell)
        self.tasks.leave()
        self.flush_streams()
        with self.state:
            self.running = None
        cancelled = interrupts.happened and (
            isinstance(cell.error, KeyboardInterrupt) or type(cell.error).__name__ == "CancelledError"
        )
        self.outlet.send(
            "done",
            execution=cell.execution,
            status="ok" if cell.error is None else "error",
            execution_count=cell.number,
            cancelled=cancelled,
        )

    def begin(self, cell):
        """Gets everything ready for a cell, and says that it begins."""
        for name, value in cell.variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        interrupts.reset()
        with self.state:
            self.running, self.queued = cell.execution, None
            if self.cancelled == cell.execution:
                # Interrupted while a task kept it from beginning.
                interrupts.happened = True
                cell.error = KeyboardInterrupt()
        if not cell.hidden and cell.number is None:
            self.count += 1
            cell.number = self.count
            cell.filename = "<cell %d>" % cell.number
        self.cell_name = cell.filename
        self.outlet.current = cell.execution
        OWNER.set(cell.execution)
        self.outlet.send("started", execution=cell.execution, execution_count=cell.number)
        if _signal.getsignal(_signal.SIGINT) != interrupts.handle:
            _signal.signal(_signal.SIGINT, interrupts.handle)
        self.tasks.enter()

    def show_end(self, cell):
        """Shows what ended the cell, and what it left to be shown."""
        shown = Cell({"execution": None, "code": ""})
        failed = cell.error
        if failed is not None:
            self.attempt(shown, lambda: self.show_failure(failed))
        if not cell.hidden:
            self.attempt(cell, self.end_of_cell)
            if failed is None and cell.error is not None:
                failed = cell.error
                self.attempt(shown, lambda: self.show_failure(failed))
        if os.getpid() != self.pid:
            # The cell forked, and this is the child: it has no business here.
            status = exit_status(cell.error)
            self.outlet.flush()
            os._exit(status)
        if shown.error is not None:
            name = type(failed).__name__
            self.outlet.send("error", name=name, message="", traceback=[name])

    def attempt(self, cell, function):
        """Runs code of the user's, which may be interrupted; keeps the first that was raised."""
        try:
            try:
                interrupts.armed = True
                function()
            finally:
                interrupts.armed = False
        except BaseException as error:
            interrupts.armed = False
            if cell.error is None:
                cell.error = error

    def run_cell(self, cell):
        """Runs the source of a cell."""
        if self.cancelled == cell.execution:
            # The signal came when the cell had been taken and there was nothing to break off yet.
            interrupts.happened = True
            raise KeyboardInterrupt
        source, filename, hidden = cell.source, cell.filename, cell.hidden
        if self.shell.reloads is not None and self.shell.reloads.on and not hidden:
            self.shell.reloads.run()
        if hidden:
            self.run_source(source, filename, False)
            cell.ran = True
            return
        self.remember(source)
        events = self.shell.events
        if events.callbacks["pre_execute"] or events.callbacks["pre_run_cell"]:
            events.trigger("pre_execute")
            events.trigger("pre_run_cell", types.SimpleNamespace(raw_cell=source, cell_id=None))
        self.run_source(source, filename, True, True)
        cell.ran = True

    def remember(self, source):
        """Puts a cell into the history."""
        namespace = self.namespace
        self.raw_inputs.append(source)
        inputs = namespace.get("_ih")
        if not isinstance(inputs, list):
            inputs = namespace["_ih"] = namespace["In"] = [""] * self.count
        earlier = inputs[-3:][::-1] + ["", "", ""]
        namespace["_i"], namespace["_ii"], namespace["_iii"] = earlier[0], earlier[1], earlier[2]
        namespace["_i%d" % self.count] = source
        inputs.append(source)

    def run_source(self, source, filename, show, ends=False):
        """Runs source on the user's variables; the value of the last expression is shown.

        `ends` says that the cell ends with it.
        """
        shown = self.shell.interactivity() if show else "last_expr"
        value = self.run_parts(self.compile_cell(source, filename, shown))
        if show and value is not None:
            self.ends = ends
            try:
                sys.displayhook(value)
            finally:
                self.ends = False

    def compile_cell(self, source, filename, shown="last_expr"):
        """Compiles a cell: its statements, and its last expression apart, or what else is to be shown."""
        flags = self.future_flags | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        lines = source.splitlines(True)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        entry = (len(source), None, lines, filename)
        self.sources[filename] = entry
        if "linecache" in sys.modules:
            sys.modules["linecache"].cache[filename] = entry
        only_ast = flags | _ast.PyCF_ONLY_AST
        text = self.without_percent(source)
        if text != source or source.lstrip().startswith("%%"):
            text = python_source(text)
            self.transformed(source, text)
            tree = compile(text, filename, "exec", only_ast, True)
        else:
            try:
                tree = compile(source, filename, "exec", only_ast, True)
            except SyntaxError:
                text = self.other_reading(source)
                if text == source:
                    raise
                self.transformed(source, text)
                tree = compile(text, filename, "exec", only_ast, True)
        body = tree.body
        last = None
        if shown != "last_expr" and body:
            return self.compile_shown(text, body, filename, flags, shown)
        if body and isinstance(body[-1], _ast.Expr) and not hides_result(text, body[-1]):
            last = compile(_ast.Expression(body.pop().value), filename, "eval", flags, True)
        code = compile(tree, filename, "exec", flags, True) if body else None
        if code is not None and "__future__" in source:
            future = library("__future__")
            mask = 0
            for name in future.all_feature_names:
                mask |= getattr(future, name).compiler_flag
            self.future_flags |= code.co_flags & mask
        return code, last

    def compile_shown(self, text, body, filename, flags, shown):
        """Compiles a cell of which something else is shown than its last expression."""
        hidden = hides_result(text, body[-1])
        if shown == "last_expr_or_assign" and not hidden:
            last = body[-1]
            targets = getattr(last, "targets", None) or [getattr(last, "target", None)]
            assigns = isinstance(last, (_ast.Assign, _ast.AugAssign, _ast.AnnAssign))
            if assigns and len(targets) == 1 and isinstance(targets[0], _ast.Name):
                place = {"lineno": last.lineno, "col_offset": 0, "end_lineno": last.lineno, "end_col_offset": 0}
                body.append(_ast.Expr(_ast.Name(targets[0].id, _ast.Load(), **place), **place))
            shown = "last" if isinstance(body[-1], _ast.Expr) else "none"
        count = {"all": len(body), "last": 1}.get(shown, 0) if not hidden else 0
        plain = body[: len(body) - count]
        codes = [compile(_ast.Module(plain, []), filename, "exec", flags, True)] if plain else []
        for statement in body[len(plain) :]:
            codes.append(compile(_ast.Interactive([statement]), filename, "single", flags, True))
        return tuple(codes) + (None,)

    def other_reading(self, source):
        """Source that is no Python: with its magics as calls."""
        if has_magic_signs(source) or source[:1] in " \t\n":
            return python_source(source)
        return source

    def without_percent(self, source):
        """A cell of one line that begins with the name of a magic, which is no variable: that magic.

        `exit` and `quit` are called without being told to.
        """
        line = source.strip()
        found = LONE_WORD.match(line)
        if found is None or not self.shell.automagic:
            return source
        word, rest = found.group(1), line[found.end() :]
        if rest[:1] in ("=", ",") or rest.endswith("?"):
            return source
        if word in self.namespace:
            return source
        if isinstance(getattr(builtins, word, None), ZMQExitAutocall) and not rest:
            return word + "()"
        if hasattr(builtins, word) or self.shell._magic("line", word) is None:
            return source
        return "%%%s %s" % (word, rest)

    def transformed(self, source, text):
        """The history keeps a cell as the Python that ran."""
        inputs = self.namespace.get("_ih")
        if isinstance(inputs, list) and inputs and inputs[-1] == source:
            inputs[-1] = text.rstrip("\n")

    def run_parts(self, parts):
        """Runs what was compiled; returns the value of the last expression."""
        value = None
        for code in parts:
            if code is not None:
                value = eval(code, self.namespace)
                if code.co_flags & CO_COROUTINE:
                    value = self.tasks.wait(value)
        return value if parts[-1] is not None else None

    def show_result(self, value):
        """Python's `sys.displayhook`: shows a value and remembers it."""
        if value is None:
            return
        data, metadata = self.shell.display_formatter.format(value)
        namespace = self.namespace
        results = namespace.get("_oh")
        if value is not results:
            names = ("_", "__", "___")
            # A user who took one of the names for something else keeps it.
            if all(
                namespace.get(name) is known for name, known in zip(names, self.unders) if name in namespace
            ):
                self.unders = [value] + self.unders[:2]
                for name, known in zip(names, self.unders):
                    namespace[name] = known
            namespace["_%d" % self.count] = value
            if isinstance(results, dict):
                if len(results) >= KEPT_RESULTS:
                    self.forget_results(results)
                results[self.count] = value
        if data:
            if self.outlet.forked:
                print(data.get("text/plain", ""))
                return
            send = self.outlet.send_last if self.ends else self.outlet.send
            send("result", execution_count=self.count, data=data, metadata=metadata)

    def forget_results(self, results):
        """Lets go of the oldest results, as IPython does: they may hold a lot of memory."""
        for number in sorted(results)[: KEPT_RESULTS // 5]:
            del results[number]
            self.namespace.pop("_%d" % number, None)

    def show_error(self, error):
        """Shows an error that does not end the cell."""
        self.outlet.send("error", **error_fields(error))

    def show_failure(self, error):
        """Shows what ended the cell."""
        if isinstance(error, UsageError):
            print("UsageError: %s" % error, file=sys.stderr)
            return
        self.shell.last_error = sys.last_value = error
        sys.last_type, sys.last_traceback = type(error), error.__traceback__
        if self.outlet.forked:
            if not isinstance(error, SystemExit):
                print("\n".join(traceback_lines(error)), file=sys.stderr)
            return
        self.show_error(error)

    def end_of_cell(self):
        """What happens after the code of each cell."""
        if self.outlet.forked:
            return
        events = self.shell.events
        hooks = events.callbacks["post_execute"] or events.callbacks["post_run_cell"]
        if self.outlet.held is not None and (hooks or "matplotlib" in sys.modules):
            self.outlet.turn(None)
        if hooks:
            events.trigger("post_execute")
            events.trigger("post_run_cell", types.SimpleNamespace(success=True, result=None))
        if "matplotlib" in sys.modules:
            try:
                figures.at_end_of_cell()
            except Exception as error:
                self.show_error(error)

    def flush_streams(self):
        """Brings out what the cell left in buffers: of C code too, if any was loaded."""
        for stream in (sys.stdout, sys.stderr):
            if stream not in self.outlet.streams:
                try:
                    stream.flush()
                except Exception:
                    pass
        if len(sys.modules) != self.modules_seen:
            self.modules_seen = len(sys.modules)
            self.loaded_c_code = self.loaded_c_code or uses_c_code()
        if self.loaded_c_code:
            if self.c_flush is None:
                self.c_flush = make_c_flush()
            self.c_flush()

    # The loop.

    def serve(self):
        """Runs requests, one after the other, and lets tasks go on in between."""
        while True:
            try:
                if not self.taken:
                    self.cell = None
                    self.wait_for_request(self.taken)
                    continue
                if self.taken[0]["request"] == "exit":
                    return
                if self.cell is None:
                    self.cell = Cell(self.taken[0])
                self.execute(self.cell)
                self.taken.clear()
                if self.shell.exit_now:
                    return
            except BaseException as error:
                # Raised by a signal handler of the program's, outside of its own code.
                cell = self.cell
                if cell is not None and cell.stage == Cell.RUN and not cell.ran and cell.error is None:
                    cell.error = error
                else:
                    self.report(error)

    def wait_for_request(self, taken):
        """Waits for a request, or at least until something has happened."""
        loop = self.tasks.loop
        if loop is None or loop.is_closed():
            # In one call, so that nothing can come between taking it and having it.
            taken.extend(map(self.requests.get, (True,)))
            return
        self.tasks.turn_once()
        try:
            taken.extend(map(self.requests.get, (False,)))
        except Empty:
            self.tasks.turn()

    def report(self, error):
        """Shows what nobody waits for."""
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except BaseException:
            pass

    def read_requests(self, rest):
        """Takes requests in a thread of its own, so that some are answered while a cell runs."""
        _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGINT])
        pieces = [rest]
        while True:
            data = os.read(self.descriptors[0], 65536)
            if not data:
                self.abandoned()
            pieces.append(data)
            if b"\n" not in data:
                continue
            lines = b"".join(pieces).split(b"\n")
            pieces = [lines.pop()]
            for line in lines:
                self.take(json.loads(line))

    def abandoned(self):
        """The host is gone: so is everything that was started for it."""
        try:
            for process in descendants(os.getpid()):
                os.kill(process, _signal.SIGKILL)
        except OSError:
            pass
        if os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), _signal.SIGKILL)
        os._exit(1)

    def take(self, request):
        """One request."""
        kind = request["request"]
        if kind == "execute":
            with self.state:
                self.queued = request["execution"]
            self.requests.put(request)
            self.tasks.wake()
        elif kind == "interrupt":
            self.outlet.reply(request.get("id"), running=self.interrupt(request["execution"]))
        elif kind == "ping":
            self.outlet.reply(request.get("id"), running=self.running)
        elif kind == "exit":
            if self.running is not None:
                self.abandoned()
            self.requests.put(request)
            self.tasks.wake()
        elif kind in QUESTIONS:
            # Looking at a value may run code of the user's, and that may take for ever.
            _thread.start_new_thread(self.answer, (request,))
        else:
            self.outlet.reply(request.get("id"), error="there is no request %r" % kind)

    def interrupt(self, execution):
        """Interrupts an execution if it runs, or is about to; says whether it does."""
        with self.state:
            if execution not in (self.queued, self.running):
                return False
            self.cancelled = execution
            if self.queued == execution:
                # Some task has kept the loop since the last cell.
                interrupts.breaks_in = True
            _thread.start_new_thread(self.insist, (execution, interrupts.handled))
            if os.getpgrp() == os.getpid():
                os.killpg(os.getpid(), _signal.SIGINT)
            else:
                os.kill(os.getpid(), _signal.SIGINT)
            return True

    def insist(self, execution, handled):
        """Sends the signal again, to the main thread alone, until it is noticed.

        One that comes just before a call into the system that waits is noted by Python and looked at only
        when the call returns. That is a moment in which others get Python's lock, so it is not rare.
        """
        sleep, wait = library("time").sleep, 0.01
        while True:
            sleep(wait)
            wait = min(wait * 2, 0.5)
            with self.state:
                if interrupts.handled != handled or execution not in (self.running, self.queued):
                    return
                if _signal.getsignal(_signal.SIGINT) != interrupts.handle:
                    return
                _signal.pthread_kill(MAIN_THREAD, _signal.SIGINT)

    def answer(self, request):
        """Answers a question about code."""
        try:
            fields = QUESTIONS[request["request"]](request)
        except BaseException as error:
            fields = {"error": "%s: %s" % (type(error).__name__, error)}
        self.outlet.reply(request.get("id"), **fields)


def hides_result(source, last):
    """Whether a semicolon stands behind the last expression."""
    if ";" not in source:
        return False
    lines = source.encode("utf-8", "cellist.replace").split(b"\n")[last.end_lineno - 1 :]
    lines[0] = lines[0][last.end_col_offset :]
    return b"\n".join(lines).lstrip(b" \t\f\r\n\\)").startswith(b";")


def uses_c_code():
    """Whether a module was loaded that may print by way of C: one that is not part of Python."""
    if "ctypes" in sys.modules or "_cffi_backend" in sys.modules:
        return True
    own = os.path.dirname(os.__file__) + os.sep + "lib-dynload"
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.endswith((".so", ".dylib", ".pyd")) and not path.startswith(own):
            return True
    return False


def make_c_flush():
    """A function that empties the buffers of C's own streams."""
    try:
        ctypes = library("ctypes")
        c_library = ctypes.CDLL(None)
        fflush = c_library.fflush
        fflush.argtypes, fflush.restype = [ctypes.c_void_p], ctypes.c_int
        streams = []
        for names in (("stdout", "__stdoutp"), ("stderr", "__stderrp")):
            for name in names:
                try:
                    streams.append(ctypes.c_void_p.in_dll(c_library, name))
                    break
                except ValueError:
                    pass
    except Exception:
        return lambda: None

    def flush():
        # Not fflush(NULL): it waits for streams that another thread reads from.
        for stream in streams:
            fflush(stream)

    return flush


# --- Questions about code -------------------------------------------------------------------------


def complete(request):
    """What could be written at the cursor."""
    code, cursor = request["code"], request["cursor"]
    before = code[:cursor]
    namespace = runner.namespace
    line = before.rpartition("\n")[2]
    found = re.search(r"^\s*(%{1,2})(\w*)$", line)
    if found:
        kinds = ("cell",) if found.group(1) == "%%" else ("line", "cell")
        names = [
            ("%%" if kind == "cell" else "%") + name
            for kind in kinds
            for name in magic_names(kind)
            if name.startswith(found.group(2))
        ]
        return matches(names, cursor - len(found.group(1) + found.group(2)), cursor)
    found = re.search(r"^\s*(?:from\s+([\w.]*)|import\s+(?:[\w.]+\s*,\s*)*([\w.]*))$", line)
    if found:
        word = found.group(1) if found.group(1) is not None else found.group(2)
        return matches(module_names(word), cursor - len(word), cursor)
    found = re.search(r"^\s*from\s+([\w.]+)\s+import\s+(?:\(?[\w\s,]*,\s*)?\(?(\w*)$", line)
    if found:
        module = sys.modules.get(found.group(1))
        names = dir(module) if module is not None else []
        names = list(names) + module_names(found.group(1) + ".", True)
        word = found.group(2)
        return matches([name for name in names if name.startswith(word)], cursor - len(word), cursor)
    found = re.search(r"([^\W\d](?:[\w.]|\[[^\[\]]*\])*)\[(['\"])([^'\"\]]*)$", line)
    if found:
        keys = keys_of(look_up(found.group(1), namespace))
        word, quote = found.group(3), found.group(2)
        names = [key for key in keys if isinstance(key, str) and key.startswith(word)]
        closed = code[cursor : cursor + 1] == quote
        return matches([name if closed else name + quote + "]" for name in names], cursor - len(word), cursor)
    found = re.search(r"((?:[^\W\d]\w*(?:\[[^\[\]]*\])?\.)*)([^\W\d]\w*)?$", before)
    path, word = found.group(1), found.group(2) or ""
    start = cursor - len(word)
    if path:
        value = look_up(path[:-1], namespace)
        if value is MISSING:
            return matches([], start, cursor)
        names = attribute_names(value, word)
        return matches(names, start, cursor)
    if before[:start].rstrip(" ").endswith("."):
        # Something that would have to be computed to be known.
        return matches([], start, cursor)
    names = [name for name in list(namespace) if name.startswith(word) and (word or not name.startswith("_"))]
    names += [name for name in dir(builtins) if name.startswith(word) and (word or not name.startswith("_"))]
    names += [name for name in library("keyword").kwlist if name.startswith(word)]
    names = parameters(before, word, namespace) + sorted(
        set(names), key=lambda name: (name.startswith("_"), name)
    )
    return matches(names, start, cursor)


MISSING = object()


def matches(names, start, end):
    """A completion, each name once."""
    return {"matches": list(dict.fromkeys(names)), "start": start, "end": end}


def look_up(path, namespace):
    """The value of a dotted name with constant subscripts, without calling anything but attributes."""
    value = MISSING
    for part in re.findall(r"[^\W\d]\w*|\[[^\[\]]*\]", path):
        if part.startswith("["):
            try:
                value = value[_literal(part[1:-1])]
            except Exception:
                return MISSING
        elif value is MISSING:
            if part in namespace:
                value = namespace[part]
            elif hasattr(builtins, part):
                value = getattr(builtins, part)
            else:
                return MISSING
        else:
            try:
                value = getattr(value, part)
            except Exception:
                return MISSING
    return value


def _literal(text):
    return library("ast").literal_eval(text.strip())


def attribute_names(value, word):
    """Names of attributes, the public ones first."""
    try:
        names = [name for name in dir(value) if isinstance(name, str) and name.startswith(word)]
    except Exception:
        return []
    if not word.startswith("_"):
        public = [name for name in names if not name.startswith("_")]
        names = public + ([name for name in names if name.startswith("_")] if word else [])
    return names


def keys_of(value):
    """The keys by which a value can be asked, in order."""
    for read in (lambda: value._ipython_key_completions_(), lambda: value.columns, lambda: value.keys()):
        try:
            return list(read())
        except Exception:
            pass
    return []


def parameters(before, word, namespace):
    """Names of parameters of the function that is being called."""
    name = called_name(before[: len(before) - len(word)])
    value = look_up(name, namespace) if name else MISSING
    if value is MISSING or not callable(value):
        return []
    try:
        signature = library("inspect").signature(value)
    except (TypeError, ValueError):
        return []
    kinds = (1, 3)
    return [
        key + "=" for key, item in signature.parameters.items() if item.kind in kinds and key.startswith(word)
    ]


def called_name(before):
    """The name before the innermost bracket that is still open."""
    depth = 0
    for at in range(len(before) - 1, -1, -1):
        if before[at] in ")]}":
            depth += 1
        elif before[at] in "([{":
            if depth == 0:
                found = re.search(r"([^\W\d][\w.]*)\s*$", before[:at]) if before[at] == "(" else None
                return found.group(1) if found else None
            depth -= 1
    return None


def module_names(word, tails_only=False):
    """Names of modules that could be imported and begin with `word`."""
    package, _, start = word.rpartition(".")
    folders = sys.path
    if package:
        spec = None
        module = sys.modules.get(package)
        folders = getattr(module, "__path__", None)
        if folders is None:
            try:
                spec = library("importlib.util").find_spec(package) if module is None else None
            except Exception:
                spec = None
            folders = (spec.submodule_search_locations if spec is not None else None) or []
    names = set() if package else set(sys.builtin_module_names)
    for folder in folders:
        try:
            entries = os.listdir(folder or ".")
        except (OSError, TypeError):
            continue
        for entry in entries:
            name, dot, _ = entry.partition(".")
            if name.isidentifier() and (
                entry.endswith((".py", ".so", ".pyd"))
                or (not dot and os.path.isdir(os.path.join(folder or ".", entry)) and name != "__pycache__")
            ):
                names.add(name)
    names = sorted(name for name in names if name.startswith(start) and (start or not name.startswith("_")))
    return names if tails_only or not package else [package + "." + name for name in names]


def inspect_code(request):
    """What is known of the name at the cursor, or of the function that is being called there."""
    code, cursor = request["code"], request["cursor"]
    start = re.search(r"[\w.%]*$", code[:cursor]).start()
    end = cursor + re.match(r"\w*", code[cursor:]).end()
    names = [code[start:end].strip("."), called_name(code[:cursor])]
    for name in names:
        if name:
            text = describe_name(name, runner.namespace, bool(request.get("detail")))
            if text is not None:
                return {"found": True, "data": {"text/plain": text}}
    return {"found": False, "data": {}}


def describe_name(name, namespace, detail):
    """A description of a value by its name; none if there is no such name."""
    if name.startswith("%"):
        kind = "cell" if name.startswith("%%") else "line"
        value = runner.shell._magic(kind, name.lstrip("%"))
        value = MISSING if value is None else value
    elif "*" in name:
        names = [key for key in list(namespace) + dir(builtins) if library("fnmatch").fnmatch(key, name)]
        return "\n".join(sorted(names)) if names else None
    else:
        value = look_up(name, namespace)
    if value is MISSING:
        return None
    inspect = library("inspect")
    rows = []
    if callable(value):
        try:
            rows.append(
                (
                    "Init signature" if isinstance(value, type) else "Signature",
                    name + str(inspect.signature(value)),
                )
            )
        except (TypeError, ValueError):
            pass
    is_code = inspect.isroutine(value) or isinstance(value, type) or inspect.ismodule(value)
    kind = type(value).__name__
    if not is_code:
        rows.append(("Type", kind))
        try:
            text = plain_text(value)
        except Exception as error:
            text = "(its text cannot be made: %s)" % error
        rows.append(("String form", text if len(text) <= 500 else text[:500] + "…"))
        try:
            rows.append(("Length", str(len(value))))
        except Exception:
            pass
    source = None
    if detail:
        try:
            source = inspect.getsource(value if is_code else type(value)).rstrip()
        except (OSError, TypeError):
            pass
    if source is not None:
        rows.append(("Source", "\n" + source))
    else:
        rows.append(
            ("Docstring", "\n" + inspect.getdoc(value) if inspect.getdoc(value) else "<no docstring>")
        )
    try:
        path = inspect.getfile(value if is_code else type(value))
    except (TypeError, OSError):
        path = None
    if path and path != HERE:
        rows.append(("File", path))
    if is_code:
        rows.append(("Type", kind))
    parts = []
    for title, text in rows:
        text = text.lstrip("\n") if "\n" not in text.lstrip("\n") else text
        gap = "" if text.startswith("\n") else " " * max(1, 16 - len(title) - 1)
        parts.append("%s:%s%s" % (title, gap, text))
    return "\n".join(parts)


def is_complete(request):
    """Whether code could be run as it stands."""
    code = request["code"]
    text = python_source(code)
    lines = text.rstrip("\n").split("\n") or [""]
    last = lines[-1]
    indent = last[: len(last) - len(last.lstrip())]
    flags = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | _ast.PyCF_ONLY_AST
    try:
        compile(text, "<code>", "exec", flags, True)
    except (SyntaxError, OverflowError, ValueError, MemoryError):
        return _broken_code(text, last, indent, flags)
    in_block = bool(indent) or last.rstrip().endswith(":")
    if in_block and not text.endswith("\n\n") and code[-2:] != "\n\n" and len(lines) > 1:
        words = last.split()
        if words and words[0].rstrip(":;") in ("return", "pass", "raise", "break", "continue"):
            indent = indent[:-4]
        return {"status": "incomplete", "indent": indent}
    return {"status": "complete"}


def _broken_code(text, last, indent, flags):
    state = ScanState()
    for line in text.splitlines(True):
        state.scan(line)
    unfinished = not state.at_statement()
    if not unfinished:
        stripped = last.split("#")[0].rstrip()
        unfinished = stripped.endswith((":", "\\")) or last.lstrip().startswith("@")
        if unfinished and stripped.endswith(":"):
            try:
                compile(text.rstrip("\n") + "\n" + indent + "    pass\n", "<code>", "exec", flags, True)
            except SyntaxError as error:
                # A `try` waits for its `except`; anything else is wrong and stays wrong.
                unfinished = "expected 'except'" in str(error) or "unexpected EOF" in str(error)
            return (
                {"status": "incomplete", "indent": indent + "    "} if unfinished else {"status": "invalid"}
            )
        if not unfinished:
            try:
                compile(text, "<code>", "exec", flags, True)
            except SyntaxError as error:
                message = str(error)
                ended = (error.lineno or 0) >= text.rstrip("\n").count("\n") + 1
                unfinished = ended and ("unexpected EOF" in message or "expected 'except'" in message)
    if unfinished:
        if last.rstrip().endswith(("(", "[", "{")):
            indent += "    "
        return {"status": "incomplete", "indent": indent}
    return {"status": "invalid"}


QUESTIONS = {"complete": complete, "inspect": inspect_code, "is_complete": is_complete}


# --- Start ----------------------------------------------------------------------------------------

runner = None


def main(requests, frames):
    """Says hello and runs what is asked for, until told to leave."""
    global runner, START_PATH
    for descriptor in (requests, frames):
        os.set_inheritable(descriptor, False)
    START_PATH = [entry for entry in sys.path if entry != ""]
    data = b""
    while b"\n" not in data:
        piece = os.read(requests, 65536)
        if not piece:
            os._exit(1)
        data += piece
    first, rest = data.split(b"\n", 1)
    request = json.loads(first)
    runner = Runner(requests, frames)
    runner.set_up(request)
    notices = runner.run_prelude(request)
    runner.outlet.send(
        "hello",
        protocol=PROTOCOL,
        python="%d.%d.%d" % sys.version_info[:3],
        implementation=sys.implementation.name,
        executable=sys.executable,
        pid=runner.pid,
        notices=notices,
    )
    _thread.start_new_thread(runner.read_requests, (rest,))
    while True:
        try:
            runner.serve()
            return
        except BaseException:
            # It came while another was being dealt with.
            pass
