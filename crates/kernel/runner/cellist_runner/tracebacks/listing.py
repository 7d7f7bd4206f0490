"""Tracebacks of one line a frame, and the lines of an error alone."""

from ..base import library, state
from .colours import CYAN, RED, paint
from .frames import cell_number, place, user_frames
from .layout import layout


def plain_lines(error, frames=True, seen=None):
    """An error with its frames, and those that led to it before it."""
    from . import CAUSE, CONTEXT, before_error

    parts = []
    if frames:
        parts = frame_lines(user_frames(error.__traceback__))
    parts.append(exception_lines(error))
    seen = set() if seen is None else seen
    before = before_error(error)
    if (frames or layout().chains_minimal) and before is not None and id(before) not in seen:
        seen.add(id(before))
        message = CAUSE if error.__cause__ else CONTEXT
        return plain_lines(before, frames, seen) + [message] + parts
    return parts


def frame_lines(frames):
    """A heading and a part for each frame."""
    if not frames:
        return []
    parts = ["Traceback " + paint(CYAN, "(most recent call last)") + ":\n"]
    linecache = library("linecache")
    linecache.checkcache()
    for frame in frames:
        line = linecache.getline(frame.code.co_filename, frame.line, frame.frame.f_globals).strip()
        parts.append(frame_line(frame.code.co_filename, frame.line, frame.code.co_name, line))
    return parts


def frame_line(filename, number, name, line):
    """One frame: where it is, in which function, and its line."""
    text = "  " + place(filename, number)
    if name != "<module>":
        text += " in " + paint(CYAN, name)
    text += "\n"
    if line:
        text += "    " + line + "\n"
    return text


def syntax_lines(error):
    """An error of syntax: of the cell itself, or of code that the cell loads or makes."""
    from . import CAUSE, CONTEXT, before_error

    refresh(error)
    frames = user_frames(error.__traceback__)
    parts = frame_lines(frames)
    runs = layout().run_code_line() if frames else None
    if runs is not None:
        parts.insert(1, frame_line(runs[0], runs[1], "run_code", runs[2]))
    parts.append(exception_lines(error))
    before = before_error(error) if frames else None
    if before is not None:
        parts = plain_lines(before) + [CAUSE if error.__cause__ else CONTEXT] + parts
    return parts


def refresh(error):
    """Takes the line from the file, which may have been edited."""
    linecache = library("linecache")
    if isinstance(error.filename, str) and isinstance(error.lineno, int):
        linecache.checkcache(error.filename)
        text = linecache.getline(error.filename, error.lineno)
        if text:
            error.text = text


def exception_lines(error):
    """The name and the message of an error; of an error of syntax also its place."""
    from . import notes

    name, text = paint(RED, type(error).__name__), ""
    if isinstance(error, SyntaxError):
        text = _place_lines(error)
        message = error.msg
    else:
        try:
            # Older versions take the bare message of any error that has one.
            message = (layout().version < (9, 6) and getattr(error, "msg", None)) or str(error)
        except Exception:
            message = "<unprintable %s object>" % type(error).__name__
    text += name + paint(RED, ":") + " %s\n" % message if message else name + "\n"
    return text + "".join("%s\n" % note for note in notes(error))


def _place_lines(error):
    if not error.filename:
        error.filename = "<string>"
    line = ""
    if error.lineno:
        line = library("linecache").getline(error.filename, error.lineno)
    text = "  " + place(error.filename, error.lineno or None) + "\n"
    if line == "":
        line = error.text if isinstance(error.text, str) else ""
        if not isinstance(error.text, str) and layout().version < (9, 1):
            return text
    text += paint(RED, "    " + line.strip()) + "\n"
    if error.offset is not None:
        start = len(line) - len(line.lstrip())
        before = line[start : max(error.offset - 1, 0)]
        text += "    " + "".join(sign if sign.isspace() else " " for sign in before) + "^\n"
    return text


def message(error):
    """The text of an error. An error of syntax names a cell as Jupyter's own kernel does."""
    if not isinstance(error, SyntaxError) or cell_number(error.filename) is None:
        return str(error)
    source = state.runner.compiler.raw.get(error.filename, "")
    kept, error.filename = error.filename, "%d.py" % digest(source.encode("utf-8", "replace"))
    try:
        return str(error)
    finally:
        error.filename = kept


def digest(data):
    """The number by which Jupyter's own kernel names the source of a cell: MurmurHash2 of 32 bits."""
    factor, mask = 0x5BD1E995, 0xFFFFFFFF
    value = 0xC70F6907 ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * factor & mask
        word = (word ^ word >> 24) * factor & mask
        value = (value * factor & mask) ^ word
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * factor & mask
    value = (value ^ value >> 13) * factor & mask
    return value ^ value >> 15
