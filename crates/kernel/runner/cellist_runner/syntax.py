"""Magics in the source of a cell."""

import re


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
    """The source without blank lines at its head, and without the indentation of its first line."""
    blank = re.match(r"(?:[ \t\f]*\r?\n)+(?=[ \t]*\S)", source)
    if blank is not None:
        source = source[blank.end() :]
    first = re.match(r"([ \t]+)(?=\S)", source)
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
