"""Completion at the cursor."""

import builtins
import os
import re
import sys

from .base import library, state
from .lookup import MISSING, called_name, look_up


def answer(request):
    """Completions at the cursor."""
    code, cursor = request["code"], request["cursor"]
    before = code[:cursor]
    namespace = state.runner.namespace.variables
    line = before.rpartition("\n")[2]
    found = re.search(r"^\s*(%{1,2})(\w*)$", line)
    if found:
        kinds = ("cell",) if found.group(1) == "%%" else ("line", "cell")
        names = [
            ("%%" if kind == "cell" else "%") + name
            for kind in kinds
            for name in state.runner.shell.magics.names(kind)
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


def matches(names, start, end):
    """A completion, each name once."""
    return {"matches": list(dict.fromkeys(names)), "start": start, "end": end}


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
