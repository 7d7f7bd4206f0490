"""The source of a cell as code that can be run."""

import _ast
import builtins
import re
import sys

from .base import library, load
from .shell import ZMQExitAutocall

# Starts of a one-line cell that make it a magic without its percent sign.
LONE_WORD = r"([A-Za-z_]\w*)(?![\w.])[ \t]*(?!.*\n)"


class Compiler:
    """Compiles cells, and keeps their sources for tracebacks."""

    def __init__(self, namespace, shell):
        self.namespace = namespace
        self.shell = shell
        # By the name of the file that a cell stands for, as `linecache` has them.
        self.sources = {}
        # The same as they were written.
        self.raw = {}
        # Imports of cells from `__future__`.
        self.future_flags = 0
        # How much code the running cell has run by `run_cell`, and its number.
        self.nested = (0, 0)

    def nested_name(self, count):
        """The name of a file for code that a cell runs: `<cell 5:2>` for the second in cell 5."""
        number = self.nested[1] + 1 if self.nested[0] == count else 1
        self.nested = (count, number)
        return "<cell %d:%d>" % self.nested

    def keep(self, source, filename):
        """Remembers a source, unless it is that of a magic: IPython does not show those either."""
        if filename.startswith("<timed"):
            return
        lines = source.splitlines(True)
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        entry = (len(source), None, lines, filename)
        self.sources[filename] = entry
        if "linecache" in sys.modules:
            sys.modules["linecache"].cache[filename] = entry

    def compile(self, source, filename, shown="last_expr"):
        """Compiles a cell: its statements, and apart its last expression or another value to show."""
        flags = self.future_flags | _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        only_ast = flags | _ast.PyCF_ONLY_AST
        self.raw[filename] = source
        cleanups = self.shell.input_transformers_cleanup
        text = self._without_percent(
            load("transforming").changed_lines(cleanups, source) if cleanups else source
        )
        finishers = self.shell.input_transformers_post
        if text != source or source.lstrip().startswith("%%") or finishers:
            text = load("syntax").python_source(text)
            text = load("transforming").changed_lines(finishers, text) if finishers else text
        elif source[:1] in (" ", "\t", "\r", "\n"):
            text = load("syntax").dedented(source)
        tree, refused = parse(text, filename, only_ast)
        if tree is None:
            other = self._other_reading(text)
            if other != text:
                text = other
                tree, refused = parse(text, filename, only_ast)
        self.keep(text, filename)
        if text != source:
            self.namespace.transformed(source, text)
        if tree is None:
            raise load("completeness").as_input(text, filename, only_ast) or refused
        if self.shell.ast_transformers:
            tree = load("transforming").changed_tree(self.shell, tree)
        body = tree.body
        last = None
        if shown != "last_expr" and body:
            return self._compile_shown(text, body, filename, flags, shown)
        if body and isinstance(body[-1], _ast.Expr) and not hides_result(text, body[-1]):
            last = compile(_ast.Expression(body.pop().value), filename, "eval", flags, True)
        code = compile(tree, filename, "exec", flags, True) if body else None
        if code is not None and "__future__" in source:
            future = library("__future__")
            mask = 0
            for name in future.all_feature_names:
                mask |= getattr(future, name).compiler_flag
            self.future_flags |= code.co_flags & mask
        return code, last

    def _compile_shown(self, text, body, filename, flags, shown):
        """Compiles a cell of which something else is shown than its last expression."""
        hidden = hides_result(text, body[-1])
        if shown == "last_expr_or_assign" and not hidden:
            last = body[-1]
            targets = getattr(last, "targets", None) or [getattr(last, "target", None)]
            assigns = isinstance(last, (_ast.Assign, _ast.AugAssign, _ast.AnnAssign))
            if assigns and len(targets) == 1 and isinstance(targets[0], _ast.Name):
                place = {
                    "lineno": last.lineno,
                    "col_offset": 0,
                    "end_lineno": last.lineno,
                    "end_col_offset": 0,
                }
                body.append(_ast.Expr(_ast.Name(targets[0].id, _ast.Load(), **place), **place))
            shown = "last" if isinstance(body[-1], _ast.Expr) else "none"
        count = {"all": len(body), "last": 1}.get(shown, 0) if not hidden else 0
        plain = body[: len(body) - count]
        codes = [compile(_ast.Module(plain, []), filename, "exec", flags, True)] if plain else []
        for statement in body[len(plain) :]:
            codes.append(compile(_ast.Interactive([statement]), filename, "single", flags, True))
        return tuple(codes) + (None,)

    def _other_reading(self, source):
        """Source that is no Python: with its magics as calls."""
        if any(sign in source for sign in "%!?") or source[:1] in " \t\n":
            return load("syntax").python_source(source)
        return source

    def _without_percent(self, source):
        """A cell of one line that begins with the name of a magic, which is no variable: that magic.

        `exit` and `quit` are called without being told to.
        """
        line = source.strip()
        found = re.match(LONE_WORD, line)
        if found is None or not self.shell.automagic:
            return source
        word, rest = found.group(1), line[found.end() :]
        if rest[:1] in ("=", ",") or rest.endswith("?"):
            return source
        if word in self.namespace.variables or library("keyword").iskeyword(word):
            return self._expanded(word, source) if not rest else source
        if isinstance(getattr(builtins, word, None), ZMQExitAutocall) and not rest:
            return word + "()"
        if hasattr(builtins, word) or self.shell.find_magic(word) is None:
            return source
        return "%%%s %s" % (word, rest)

    def _expanded(self, word, source):
        """The code of a macro, where the name of one is all of a cell."""
        value = self.namespace.variables.get(word)
        return value.value if type(value).__name__ == "Macro" else source


def parse(text, filename, flags):
    """The syntax tree of a text, or the error that it has none."""
    try:
        return compile(text, filename, "exec", flags, True), None
    except SyntaxError as error:
        return None, error


def hides_result(source, last):
    """Whether a semicolon stands behind the last expression."""
    if ";" not in source:
        return False
    lines = source.encode("utf-8", "cellist.replace").split(b"\n")[last.end_lineno - 1 :]
    lines[0] = lines[0][last.end_col_offset :]
    return b"\n".join(lines).lstrip(b" \t\f\r\n\\)").startswith(b";")
