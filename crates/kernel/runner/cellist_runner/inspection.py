"""Inspection: documentation of a name."""

import builtins
import re

from .base import is_ours, library, state
from .formatting import plain_text
from .lookup import MISSING, called_name, look_up


def answer(request):
    """Documentation of the name at the cursor, or of the function that is being called there."""
    code, cursor = request["code"], request["cursor"]
    start = re.search(r"[\w.%]*$", code[:cursor]).start()
    end = cursor + re.match(r"\w*", code[cursor:]).end()
    names = [code[start:end].strip("."), called_name(code[:cursor])]
    for name in names:
        if name:
            text = describe_name(name, state.runner.namespace.variables, bool(request.get("detail")))
            if text is not None:
                return {"found": True, "data": {"text/plain": text}}
    return {"found": False, "data": {}}


def describe_name(name, namespace, detail):
    """A description of a value by its name; none if there is no such name."""
    if name.startswith("%"):
        kind = "cell" if name.startswith("%%") else "line"
        value = state.runner.shell.find_magic(name.lstrip("%"), kind)
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
    if path and not is_ours(path):
        rows.append(("File", path))
    if is_code:
        rows.append(("Type", kind))
    parts = []
    for title, text in rows:
        text = text.lstrip("\n") if "\n" not in text.lstrip("\n") else text
        gap = "" if text.startswith("\n") else " " * max(1, 16 - len(title) - 1)
        parts.append("%s:%s%s" % (title, gap, text))
    return "\n".join(parts)
