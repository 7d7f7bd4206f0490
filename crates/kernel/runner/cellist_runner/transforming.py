"""Functions of the program's that change cells before they run: their text and their tree."""

import sys

from .base import library


def changed_lines(functions, source):
    """The text of a cell, after functions that each change its lines."""
    lines = source.splitlines(True)
    for function in functions:
        lines = function(lines)
    return "".join(lines)


def changed_tree(shell, tree):
    """The tree of a cell, after transformers; one that fails is not used again."""
    for transformer in list(shell.ast_transformers):
        try:
            tree = transformer.visit(tree)
        except Exception as error:
            if type(error).__name__ == "InputRejected":
                raise
            shell.ast_transformers.remove(transformer)
            text = "AST transformer %r threw an error. It will be unregistered." % (transformer,)
            print("%s: %s" % (type(error).__name__, error), text, file=sys.stderr)
    return library("ast").fix_missing_locations(tree)
