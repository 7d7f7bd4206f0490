"""Values of expressions in a frame, for tracebacks that show them: found without running code of the user's."""

import ast
import builtins
import operator
import types

from ..base import library

_MISSING = object()
# Types whose operations run no code of the user's.
ATOMS = {str, int, bool, float, bytes, complex, type(None), object}
CONTAINERS = {tuple, frozenset, list, set, dict}
NAMED = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.ModuleType,
    type,
    type(str.join),
    type(str.__add__),
    type("".__add__),
    type(dict.__dict__["fromkeys"]),
)
SAFE_DESCRIPTORS = (types.FunctionType, types.MemberDescriptorType, type(str.join), type(str.__add__))
BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}
UNARY = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_, ast.Invert: operator.invert}
COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}
CALLS = (slice, int, range, round, complex, list, tuple, abs, hex, bin, oct, bool, ord, float, len, chr)


class Unknown(Exception):
    """A value that cannot be told without running code of the user's."""


def equals(value):
    """An argument's value behind its name."""
    return "=" + short_text(value)


def short_text(value):
    """The beginning of a value's text."""
    try:
        return library("pydoc").text.repr(value)
    except Exception:
        try:
            return repr(value)
        except Exception:
            name = getattr(value, "__name__", None)
            return short_text(name) if name else "%s instance" % short_text(type(value))


def values_in(file, record, scope, piece):
    """The expressions of a piece of source, each with its value, in the order of their lines."""
    if scope is None:
        return []
    names = {}
    for known in (record.frame.f_builtins, record.frame.f_globals, record.frame.f_locals):
        names.update(known)
    finder = Finder(names)
    found = []
    for node in ast.walk(scope):
        if isinstance(node, ast.expr):
            try:
                value = finder.value(node)
            except Unknown:
                continue
            if is_interesting(node, value):
                found.append((node, value))
    if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        for node in ast.walk(scope.args):
            if isinstance(node, ast.arg) and node.arg in names:
                found.append((node, names[node.arg]))
    groups = {}
    for node, value in found:
        text = node.arg if isinstance(node, ast.arg) else ast.get_source_segment(file.text, node) or ""
        try:
            key = ast.dump(ast.parse("(%s)" % text))
        except (SyntaxError, ValueError):
            key = id(node)
        groups.setdefault(key, (text, value, []))[2].append(node)
    shown, seen = [], set()
    for line in piece:
        for key, (text, value, nodes) in groups.items():
            if text and key not in seen and any(node.lineno <= line <= node.end_lineno for node in nodes):
                seen.add(key)
                shown.append((text, value))
    return shown


def is_interesting(node, value):
    """Whether a value says more than its expression."""
    try:
        ast.literal_eval(node)
        return False
    except ValueError:
        pass
    except Exception:
        return False
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
    if isinstance(value, NAMED) and name is not None and name == getattr(value, "__name__", None):
        return False
    return not (isinstance(node, ast.Name) and getattr(builtins, node.id, _MISSING) is value)


def is_standard(value, deep):
    """Whether a value, and with `deep` all that is in it, is of a type of Python's own."""
    if type(value) in ATOMS:
        return True
    if type(value) not in CONTAINERS:
        return False
    return not deep or (len(value) <= 100000 and all(is_standard(item, True) for item in value))


class Finder:
    """Finds values of expressions by the names of a frame."""

    def __init__(self, names):
        self.names = names
        self._known = {}

    def value(self, node):
        """The value of an expression."""
        if node not in self._known:
            try:
                self._known[node] = self._find(node)
            except Unknown:
                self._known[node] = Unknown
            except Exception:
                self._known[node] = Unknown
        if self._known[node] is Unknown:
            raise Unknown
        return self._known[node]

    def _standard(self, node, deep=False):
        value = self.value(node)
        if not is_standard(value, deep):
            raise Unknown
        return value

    def _find(self, node):
        try:
            return ast.literal_eval(node)
        except Exception:
            pass
        method = getattr(self, "_find_" + type(node).__name__.lower(), None)
        if method is None:
            raise Unknown
        return method(node)

    def _find_name(self, node):
        return self.names[node.id]

    def _find_attribute(self, node):
        return static_attribute(self.value(node.value), node.attr)

    def _find_subscript(self, node):
        value = self._standard(node.value)
        index = node.slice
        if type(index).__name__ == "Index":
            index = index.value
        if isinstance(index, ast.Slice):
            ends = (index.lower, index.upper, index.step)
            return value[slice(*[None if end is None else self._standard(end) for end in ends])]
        return value[self._standard(index, True)]

    def _find_list(self, node):
        return [self.value(item) for item in node.elts]

    def _find_tuple(self, node):
        return tuple(self.value(item) for item in node.elts)

    def _find_set(self, node):
        return {self._standard(item, True) for item in node.elts}

    def _find_dict(self, node):
        return {self._standard(key, True): self.value(item) for key, item in zip(node.keys, node.values)}

    def _find_unaryop(self, node):
        return UNARY[type(node.op)](self._standard(node.operand))

    def _find_binop(self, node):
        left = self._standard(node.left)
        deep = type(left) in (set, frozenset, dict, str, bytes)
        return BINARY[type(node.op)](left, self._standard(node.right, deep))

    def _find_boolop(self, node):
        either = isinstance(node.op, ast.Or)
        for part in node.values:
            value = self._standard(part)
            if bool(value) == either:
                return value
        return value

    def _find_compare(self, node):
        left, result = self.value(node.left), True
        for operation, part in zip(node.ops, node.comparators):
            right = self.value(part)
            if not isinstance(operation, (ast.Is, ast.IsNot)):
                if not is_standard(left, True) or not is_standard(right, True):
                    raise Unknown
            result = COMPARE[type(operation)](left, right)
            if not result:
                return result
            left = right
        return result

    def _find_call(self, node):
        function = self.value(node.func)
        if node.keywords or not any(function is known for known in CALLS + (type, id)):
            raise Unknown
        if function in (type, id):
            return function(*[self.value(part) for part in node.args])
        return function(*[self._standard(part) for part in node.args])


def static_attribute(value, name):
    """An attribute that is found without running code of the user's."""
    found = library("inspect").getattr_static(value, name, _MISSING)
    if found is _MISSING:
        raise Unknown
    own = {} if isinstance(value, type) else getattr(value, "__dict__", None)
    if isinstance(own, dict) and dict.get(own, name, _MISSING) is found:
        return found
    if not hasattr(type(found), "__get__"):
        return found
    if not isinstance(found, SAFE_DESCRIPTORS):
        raise Unknown
    return found.__get__(None, value) if isinstance(value, type) else found.__get__(value, type(value))
