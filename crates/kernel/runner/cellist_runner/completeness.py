"""Whether code could be run as it stands."""

import _ast

from .base import library
from .syntax import ScanState, python_source


def answer(request):
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


def as_input(text, filename, flags):
    """The error that code has as input at a prompt, by which Jupyter's own kernel reads it; none if it has none there."""
    prompt = library("codeop").Compile().flags
    try:
        compile(text if text.endswith("\n") else text + "\n", filename, "exec", flags | prompt, True)
    except SyntaxError as error:
        return error
    return None
