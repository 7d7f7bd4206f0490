"""Values as JSON text."""

import _codecs
import json

from .base import library


def _replace_surrogates(error):
    return b"\xef\xbf\xbd" * (error.end - error.start), error.end


# Half a surrogate pair cannot travel as UTF-8; an escape would be refused by the reader.
_codecs.register_error("cellist.replace", _replace_surrogates)


def to_json(value):
    """A value as the bytes of JSON text, cleaned where it cannot be said in JSON."""
    try:
        text = _encode(value)
    except (TypeError, ValueError):
        text = _encode(_json_clean(value, 0))
    return text.encode("utf-8", "cellist.replace")


def from_json(data):
    """The value of the bytes of JSON text."""
    return _decode(data.decode("utf-8", "surrogatepass"))


def base64_text(data):
    """Bytes as base64 text."""
    return library("binascii").b2a_base64(data, newline=False).decode("ascii")


def _json_default(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64_text(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    for number in (int, float):
        if hasattr(type(value), "__%s__" % number.__name__):
            try:
                return number(value)
            except Exception:
                pass
    if hasattr(type(value), "__iter__"):
        return list(value)
    return str(value)


def _json_clean(value, depth):
    if depth > 100:
        return repr(value)
    if isinstance(value, float) and not (value - value == 0):
        return repr(value)
    if isinstance(value, dict):
        return {str(key): _json_clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_json_clean(item, depth + 1) for item in value]
    return value


# A program may put its own functions into the module `json`; these stay as they were.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_json_default).encode
_decode = json.JSONDecoder().decode
