"""Colours of tracebacks, as terminals and notebooks understand them."""

import keyword
import re

RED, GREEN, YELLOW, BLUE, CYAN = "31", "32", "33", "34", "36"
KEYWORD, COMMENT, ERROR = "38;5;28;01", "38;5;66;03", "38;5;167;01"

TOKEN = re.compile(
    r"(?P<comment>\#.*)"
    r"|(?P<string>[rbfuRBFU]{0,2}(?:'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"))"
    r"|(?P<word>[^\W\d]\w*)"
    r"|(?P<number>\d[\w.]*)"
)


def paint(colour, text):
    """A text in a colour; each of its lines for itself, so that a line can be shown alone."""
    end = "39;00" if ";" in colour else "39"
    lines = text.split("\n")
    return "\n".join("\x1b[%sm%s\x1b[%sm" % (colour, line, end) if line else line for line in lines)


def highlight(line):
    """A line of Python, with its keywords, literals and comments in colours."""
    return TOKEN.sub(_token, line)


def _token(found):
    text = found.group()
    if found.lastgroup == "comment":
        return paint(COMMENT, text)
    if found.lastgroup == "string":
        return paint(YELLOW, text)
    if found.lastgroup == "number":
        return paint(GREEN, text)
    if keyword.iskeyword(text):
        return paint(KEYWORD, text)
    return paint(ERROR, text) if re.fullmatch(r"[A-Z]\w*(?:Error|Exception|Warning)", text) else text
