"""Tracebacks for documentation: the first frame, and how many were left out."""

from .frames import Renderer, place


def docs_lines(error):
    """The lines of an error in the mode `Docs`."""
    from . import message_lines

    renderer = Renderer()
    frames = renderer.records(error.__traceback__)
    parts = ["Traceback (most recent call last): "]
    if frames:
        first = frames[0]
        call = renderer.call(first)
        text = place(first.code.co_filename, first.line) + (", " + call if call else "") + "\n\n"
        for line in renderer.lines(first, 0):
            text += "->  " + line.split(" ", 2)[-1]
        parts.append(text)
        if len(frames) > 1:
            parts.append("\n    [... %s skipped frames]\n\n" % (len(frames) - 1))
    return parts + message_lines(error)
