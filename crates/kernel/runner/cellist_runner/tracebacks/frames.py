"""The frames of a traceback: which are shown, and how each looks."""

import os
import sys

from ..base import is_ours, library, load, state
from .colours import BLUE, CYAN, GREEN, RED, highlight, paint
from .layout import layout
from .sources import SourceFile, common_indent

# Longer files are not parsed.
LONG_FILE = 10000
# A piece of more lines is shown with a gap, unless it is the one that runs.
PIECE_LINES = 6
# Frames that look alike are folded from this number on; where IPython does not fold, much later.
ALIKE, ALIKE_RAW = 3, 200
NO_SOURCE = "'Could not get source, probably due dynamically evaluated source code.'"
NO_PIECE = "<Error retrieving source code with stack_data see ipython/ipython#13598>"


class Frame:
    """One level of a traceback."""

    def __init__(self, traceback):
        self.frame = traceback.tb_frame
        self.code = self.frame.f_code
        self.line = traceback.tb_lineno
        self.raw = False

    def key(self):
        """Frames with the same key look alike."""
        return self.code, self.line


class Repeated:
    """Frames that look like their neighbours, as one."""

    def __init__(self, frames):
        self.frames = frames


class Renderer:
    """Makes the text of frames. The sources that it reads are kept for as long as it lives."""

    def __init__(self, verbose=False):
        self.verbose = verbose
        self.layout = layout()
        self._files = {}

    def file(self, frame):
        """The source of a frame."""
        name = frame.code.co_filename
        if name not in self._files:
            self._files[name] = SourceFile(name, frame.frame.f_globals or {})
        return self._files[name]

    def frames(self, traceback, context):
        """The texts of all frames that are shown, with marks for the others."""
        shown, hidden = [], 0
        records = self.records(traceback)
        for record in records:
            if not isinstance(record, Repeated) and record is not records[-1]:
                if record.frame.f_locals.get("__tracebackhide__", 0):
                    hidden += 1
                    continue
            if hidden:
                shown.append(_mark("[... skipping hidden %s frame]" % hidden))
                hidden = 0
            shown.append(self.text(record, context))
        return shown

    def records(self, traceback):
        """The frames that are not ours, with repeated ones folded."""
        frames = user_frames(traceback)
        if self.layout.raw_cells:
            frames = [frame for frame in frames if not _is_of_ipython(frame)]
            for frame in frames:
                frame.raw = self._is_raw(frame)
        elif frames and _length(frames[-1].code.co_filename) > LONG_FILE:
            for frame in frames:
                frame.raw = True
        records, at = [], 0
        while at < len(frames):
            end = at
            while end < len(frames) and frames[end].raw == frames[at].raw:
                end += 1
            records.extend(fold(frames[at:end], ALIKE_RAW if frames[at].raw else ALIKE))
            at = end
        for record in records:
            if not isinstance(record, Repeated) and record.raw:
                record.line = record.frame.f_lineno
        return records

    def _is_raw(self, frame):
        name = frame.code.co_filename
        if name in state.runner.compiler.sources:
            return True
        length = _length(name)
        if length == 0:
            try:
                library("inspect").getsourcelines(frame.frame)
            except OSError:
                return True
        return length > LONG_FILE

    def text(self, record, context):
        """The text of one frame."""
        if isinstance(record, Repeated):
            return _mark("[... skipping similar frames: %s]" % self._description(record))
        call = self.call(record)
        if record.raw:
            if not self.layout.raw_cells:
                head = paint(GREEN, compress(record.code.co_filename)) + " " + call
            else:
                head = place(record.code.co_filename, record.line) + (", " + call if call else "")
            return head + "\n" + "".join(self._raw_lines(record, context - 1))
        head = place(absolute(record.code.co_filename), record.line) + (", " + call if call else "")
        return head + "\n" + "".join(self.lines(record, context - 1))

    def _description(self, record):
        counts = {}
        for frame in record.frames:
            counts[frame.key()] = counts.get(frame.key(), 0) + 1
        names = {frame.key(): self.file(frame).qualified_name(frame.code) for frame in record.frames}
        alike = sorted(counts.items(), key=lambda item: (-item[1], item[0][0].co_name))
        return ", ".join("%s at line %d (%d times)" % (names[key], key[1], count) for key, count in alike)

    def call(self, record):
        """`in function(arguments)`; nothing for the code of a module."""
        if not record.raw:
            name = self.file(record).qualified_name(record.code)
        elif self.layout.raw_cells:
            name = getattr(record.code, "co_qualname", None) or record.code.co_name
        else:
            name = "?"
        if name == "<module>":
            return ""
        value = load("tracebacks.variables").equals if self.verbose else lambda _value: ""
        try:
            arguments = _arguments(record, value)
        except KeyError:
            arguments = "(***failed resolving arguments***)"
        return "in " + paint(CYAN, name) + paint(BLUE, arguments)

    def lines(self, record, context):
        """The lines around the one that runs, piece by piece."""
        file = self.file(record)
        scope = file.scope(record.code, record.line)
        pieces = file.pieces()
        if scope is not None:
            start, end = file.scope_range(scope)
            pieces = [piece for piece in pieces if start <= piece.start and piece.stop <= end]
        if not pieces:
            return []
        running = [at for at, piece in enumerate(pieces) if record.line in piece]
        if len(running) != 1:
            return (
                [paint(GREEN, "%7d" % 0) + " " + NO_PIECE + "\n"] if self.layout.marks_missing_source else []
            )
        after = context // 2
        at, before = running[0], context - after
        numbers = []
        for piece in pieces[max(0, at - before) : at + 1 + after]:
            lines = list(piece)
            if piece is not pieces[at] and len(lines) > PIECE_LINES:
                lines = lines[:3] + [None] + lines[-2:]
            numbers.extend(lines)
        indent = common_indent([file.lines[number - 1] for number in numbers if number is not None])
        shown = []
        for number in numbers:
            if number is None:
                shown.append(paint(GREEN, self.layout.gap))
                continue
            margin = file.lines[number - 1][:indent]
            text = file.shown_line(number, scope).replace(margin, "", 1)
            shown.append(_numbered(number, highlight(text) + "\n", number == record.line))
            if self.verbose and number == record.line:
                shown.extend(self._values(record, scope, pieces[at]))
        return shown

    def _values(self, record, scope, piece):
        """The values of the expressions in the piece that runs."""
        try:
            pairs = load("tracebacks.variables").values_in(self.file(record), record, scope, piece)
            lines = ["%s = %s" % (name, repr(value)) for name, value in pairs]
        except Exception:
            lines = ["Exception trying to inspect frame. No more locals available."]
        text = "".join("        %s\n" % line for line in lines)
        return [text] if self.layout.version < (9, 0) else [text[:-1]]

    def _raw_lines(self, record, context):
        """The lines around the one that runs, as they are."""
        try:
            lines = library("inspect").getsourcelines(record.frame)[0]
        except OSError:
            lines = [NO_SOURCE]
        first = record.code.co_firstlineno
        if record.code.co_name == "<module>" and record.code.co_filename in state.runner.compiler.sources:
            first = 1
        index = record.line - first
        start, stop = max(index - context, 0), index + context
        index = min(index, context)
        numbered = enumerate(lines[start:stop], record.line - index)
        return [
            _numbered(number, highlight(_trimmed(line)), number == record.line) for number, line in numbered
        ]


def _mark(text):
    return "    " + paint(RED, text) + "\n"


def _numbered(number, line, runs):
    width = 7 - len(str(number))
    if not runs:
        return paint(GREEN, "%7d" % number) + " " + line
    arrow = "-" * (width - 2) + "> " if width >= 2 else ">" * max(width, 0)
    return (paint(GREEN, arrow) if arrow else "") + paint(GREEN, str(number)) + " " + line


def _trimmed(line):
    """A line by itself: without tabs and without spaces at its end, where it can be read by itself."""
    trimmed = line.expandtabs().rstrip() + "\n"
    if trimmed == line:
        return line
    tokenize = library("tokenize")
    try:
        for _ in tokenize.generate_tokens(library("io").StringIO(trimmed[:-1]).readline):
            pass
    except tokenize.TokenError:
        return line
    except SyntaxError:
        return line
    return trimmed


def _arguments(record, value):
    """The names of a function's arguments, each with its value as `value` shows it."""
    code, values = record.code, record.frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:count])
    stars = []
    for flag, star in ((0x04, "*"), (0x08, "**")):
        if code.co_flags & flag:
            stars.append((star, code.co_varnames[count]))
            count += 1
    shown = [name + value(values[name]) for name in names]
    shown += [star + name + value(values[name]) for star, name in stars]
    return "(%s)" % ", ".join(shown)


def user_frames(traceback):
    """The frames of a traceback from the first cell on, without ours."""
    frames = []
    while traceback is not None:
        frames.append(Frame(traceback))
        traceback = traceback.tb_next
    frames = [frame for frame in frames if not is_ours(frame.code.co_filename)]
    # The frames above the cell are ours, too: of the event loop, for instance.
    cells = state.runner.compiler.sources
    first = next((at for at, frame in enumerate(frames) if frame.code.co_filename in cells), 0)
    return frames[first:]


def _is_of_ipython(frame):
    name = (frame.frame.f_globals or {}).get("__name__")
    return isinstance(name, str) and name.split(".")[0] == "IPython"


def fold(frames, alike):
    """Folds frames that are there again and again; the first two and the last of each kind stay."""
    counts = {}
    for frame in frames:
        counts[frame.key()] = counts.get(frame.key(), 0) + 1
    kept = [True] * len(frames)
    at = 0
    while at < len(frames):
        end = at
        while end < len(frames) and (counts[frames[end].key()] > alike) == (counts[frames[at].key()] > alike):
            end += 1
        if counts[frames[at].key()] > alike:
            places = {}
            for place_of in range(at, end):
                places.setdefault(frames[place_of].key(), []).append(place_of)
                kept[place_of] = False
            for found in places.values():
                for place_of in found[:2] + found[-1:]:
                    kept[place_of] = True
        at = end
    records = []
    for frame, keep in zip(frames, kept):
        if keep:
            records.append(frame)
        elif records and isinstance(records[-1], Repeated):
            records[-1].frames.append(frame)
        else:
            records.append(Repeated([frame]))
    return records


def place(filename, line=None):
    """Where a frame is: a cell by its number, or a file."""
    number = cell_number(filename)
    if number is not None:
        where = "" if line is None else paint(GREEN, ", line %s" % line)
        return paint(CYAN, "Cell") + paint(CYAN, " ") + paint(GREEN, "In[%s]" % number) + where
    name = compress(filename or "")
    return paint(CYAN, "File ") + paint(GREEN, name if line is None else "%s:%s" % (name, line))


def cell_number(filename):
    """The number of the cell that a file name stands for."""
    if filename not in state.runner.compiler.sources or not filename.startswith("<cell "):
        return None
    number, _, nested = filename[6:-1].partition(":")
    # Code that a cell runs has the number of the next cell.
    return str(int(number) + 1) if nested and layout().version >= (8, 13) else number


def compress(path):
    """A path with `~` for the user's own folder."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path.startswith(home) else path


def absolute(name):
    """The full path of a file that was imported by a relative one."""
    if os.path.isabs(name) or (name.startswith("<") and name.endswith(">")):
        return name
    for folder in ["."] + list(sys.path):
        try:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                return os.path.abspath(path)
        except Exception:
            pass
    return name


_lengths = {}


def _length(name):
    """How many lines a file of Python has; 0 where that cannot be told."""
    if not name.endswith(".py"):
        return 0
    if name not in _lengths:
        try:
            with open(name) as file:
                _lengths[name] = sum(1 for _ in file)
        except UnicodeError:
            _lengths[name] = 0
        except OSError:
            return LONG_FILE + 1 if layout().raw_cells else 0
    return _lengths[name]
