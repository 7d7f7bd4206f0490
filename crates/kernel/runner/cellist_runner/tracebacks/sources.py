"""Source files as tracebacks see them: split into pieces, each a statement or a header of one, with the names of functions."""

import ast
import textwrap

from ..base import library

# Whole blocks that a frame can belong to.
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
BLOCKS = (ast.stmt, ast.ExceptHandler, getattr(ast, "match_case", ast.ExceptHandler))


class SourceFile:
    """The lines of a file and, where they are Python, their structure."""

    def __init__(self, filename, module_globals):
        linecache = library("linecache")
        entry = linecache.cache.get(filename)
        linecache.checkcache(filename)
        lines = linecache.getlines(filename, module_globals)
        if entry is not None and not lines:
            linecache.cache[filename] = entry
            lines = linecache.getlines(filename, module_globals)
        self.text = "".join(lines)
        self.lines = [line.rstrip("\n") for line in lines]
        try:
            self.tree = ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.tree = None
        if not self.lines:
            self.tree = None
        self._pieces = None
        self._names = None

    def pieces(self):
        """Ranges of lines that are shown together."""
        if self._pieces is None:
            try:
                self._pieces = self._split() if self.tree is not None else None
            except (AssertionError, RecursionError):
                self._pieces = None
            if self._pieces is None:
                self._pieces = [range(at, at + 1) for at in range(1, len(self.lines) + 1)]
        return self._pieces

    def _split(self):
        joined = []
        for start, end in split(self.tree, 1, len(self.lines) + 1):
            if end <= start:
                continue
            if joined and start < joined[-1][1]:
                # Two statements on one line.
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
        pieces = []
        for start, end in joined:
            while start < end and not self._written(start):
                start += 1
            while start < end and not self._written(end - 1):
                end -= 1
            if start < end:
                pieces.append(range(start, end))
        return pieces

    def _written(self, number):
        return number > len(self.lines) or self.lines[number - 1].strip()

    def scope(self, code, line):
        """The function, class or module whose statement runs; none where that cannot be told."""
        if self.tree is None:
            return None
        found = []
        find_statements(self.tree, self.tree, line, found)
        for _, scope in found:
            name = "<module>" if isinstance(scope, ast.Module) else scope.name
            if name == code.co_name:
                return scope
        return found[0][1] if found else None

    def scope_range(self, scope):
        """The lines of a scope."""
        if isinstance(scope, ast.Module):
            lines = self.text.split("\n")
            return 1, len(lines) + 1
        return line_range(scope)

    def shown_line(self, number, scope):
        """A line as it is shown: without a comment behind the end of the function that it ends."""
        line = self.lines[number - 1]
        if scope is None or isinstance(scope, ast.Module):
            return line
        last = last_statement(scope)
        if number == last.end_lineno:
            line = line.encode("utf-8")[: last.end_col_offset].decode("utf-8", "replace")
        first = line_range(scope)[0]
        if number == first and first == last.lineno:
            start = scope.decorator_list[0] if scope.decorator_list else scope
            line = line.encode("utf-8")[start.col_offset :].decode("utf-8", "replace")
        return line

    def qualified_name(self, code):
        """The name of a function with those around it."""
        if self._names is None:
            self._names = {}
            if self.tree is not None:
                try:
                    name_functions(self.tree, [], self._names)
                except RecursionError:
                    pass
        return self._names.get((code.co_name, code.co_firstlineno), code.co_name)


def split(node, start, end):
    """The pieces of a statement: lines before, between and behind the statements in it."""
    for _, body in ast.iter_fields(node):
        if not isinstance(body, list) or not body or not isinstance(body[0], BLOCKS):
            continue
        groups = {}
        for inner in body:
            groups.setdefault(line_range(inner), inner)
        for (first, last), inner in sorted(groups.items(), key=lambda item: item[0]):
            for inner_start, inner_end in split(inner, first, last):
                if start < inner_start:
                    yield start, inner_start
                if inner_start < inner_end:
                    yield inner_start, inner_end
                start = inner_end
    yield start, end


def last_statement(node):
    """The statement that ends a statement."""
    while True:
        for _, body in reversed(list(ast.iter_fields(node))):
            if isinstance(body, list) and body and isinstance(body[-1], BLOCKS):
                node = body[-1]
                break
        else:
            return node


def line_range(node):
    """The lines of a statement, decorators included; the end is not part of it."""
    if hasattr(node, "pattern") and hasattr(node, "guard"):
        return node.pattern.lineno, last_statement(node.body[-1]).end_lineno + 1
    start = node.decorator_list[0] if getattr(node, "decorator_list", None) else node
    return start.lineno, last_statement(node).end_lineno + 1


def find_statements(node, scope, line, found):
    """Collects statements that have something of their own on a line, each with its scope."""
    for inner in statements_in(node):
        start = inner.decorator_list[0].lineno if getattr(inner, "decorator_list", None) else inner.lineno
        if not start <= line <= inner.end_lineno:
            continue
        if has_own(inner, line):
            found.append((inner, scope))
        find_statements(inner, inner if isinstance(inner, SCOPES) else scope, line, found)


def statements_in(node):
    """The statements directly in a node: through handlers and cases, not through other statements."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, BLOCKS):
            yield from statements_in(child)


def has_own(statement, line):
    """Whether a statement begins on a line or has an expression there, apart from the statements in it."""
    if statement.lineno == line:
        return True
    waiting = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while waiting:
        node = waiting.pop()
        number = getattr(node, "lineno", None)
        if number is not None:
            end = node.end_lineno if isinstance(node, ast.expr) else number
            if number <= line <= end:
                return True
        waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
    return False


def name_functions(node, stack, names):
    """Collects the full names of functions, lambdas and classes, by their short name and first line."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, functions + (ast.ClassDef,)):
            name_functions(child, stack, names)
            continue
        name = getattr(child, "name", "<lambda>")
        decorators = getattr(child, "decorator_list", None)
        first = decorators[0].lineno if decorators else child.lineno
        names.setdefault((name, first), ".".join(stack + [name]))
        inner = stack + [name] + (["<locals>"] if isinstance(child, functions) else [])
        for field, value in ast.iter_fields(child):
            part = ast.Module(value if isinstance(value, list) else [value], [])
            if not all(isinstance(item, ast.AST) for item in part.body):
                continue
            name_functions(part, inner if field == "body" else stack, names)


def common_indent(lines):
    """The width of the indentation that all lines share."""
    shown = textwrap.dedent("\n".join(lines)).split("\n")
    return len(lines[0]) - len(shown[0])
