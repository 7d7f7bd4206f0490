"""Colours of tracebacks, as terminals and notebooks understand them."""

RED, GREEN, BLUE, CYAN = "31", "32", "34", "36"


def paint(colour, text):
    """A text in a colour; each of its lines for itself, so that a line can be shown alone."""
    lines = text.split("\n")
    return "\n".join("\x1b[%sm%s\x1b[39m" % (colour, line) if line else line for line in lines)
