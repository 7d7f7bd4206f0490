"""Finding values by their names, without running code."""

import builtins
import re

from .base import library

MISSING = object()


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
