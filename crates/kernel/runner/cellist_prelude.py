"""Helpers for code that runs in a kernel: files, search, a shell, variables, outputs, and the tools of the host.

They stand among the builtins, so that a name that the code itself gives to something is always its own. `helpers()`
lists them. Each call is told as a status event. Runs on Python 3.8 and newer, and needs nothing else.
"""

import base64
import builtins
import fnmatch
import http.client
import json
import os
import re
import subprocess
from urllib.parse import urlsplit

# The kernel's inputs: the names of helpers, and the address and token for tools, or why there are none.
GIVEN = {}

# Above any sensible call; the host refuses more.
MOST_BODY = 16 << 20

STATUS = "application/x-cellist-status"


def told(op, **fields):
    """Tells that a helper was called. A helper never fails for that."""
    try:
        builtins.display({STATUS: dict(fields, op=op)}, raw=True)
    except Exception:
        pass


# --- Files -----------------------------------------------------------------------------------------


def read(path, encoding="utf-8"):
    """read(path): the text of a file."""
    with open(path, encoding=encoding) as file:
        text = file.read()
    told("read", path=str(path), chars=len(text))
    return text


def write(path, text, encoding="utf-8"):
    """write(path, text): makes a file of a text, with its folders; returns the path."""
    return _put("write", "w", path, text, encoding)


def append(path, text, encoding="utf-8"):
    """append(path, text): adds a text to the end of a file; returns the path."""
    return _put("append", "a", path, text, encoding)


def _put(op, how, path, text, encoding):
    folder = os.path.dirname(os.fspath(path))
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(path, how, encoding=encoding) as file:
        file.write(text)
    told(op, path=str(path), chars=len(text))
    return path


# --- Search ----------------------------------------------------------------------------------------


def find(pattern="*", folder=".", hidden=False):
    """find(pattern, folder): the paths of files whose name or path matches, as `*.csv` or `data/*.csv`."""
    found = [path for path in _walk(folder, hidden) if _matches(path, folder, pattern)]
    told("find", pattern=pattern, folder=str(folder), count=len(found))
    return found


def grep(pattern, folder=".", files="*", hidden=False):
    """grep(pattern, folder, files): `(path, line number, line)` for each line that a regular expression matches."""
    wanted = re.compile(pattern)
    paths = [str(folder)] if os.path.isfile(folder) else _walk(folder, hidden)
    found = []
    for path in paths:
        if not os.path.isfile(folder) and not _matches(path, folder, files):
            continue
        try:
            with open(path, encoding="utf-8") as file:
                lines = [
                    (number, line.rstrip("\n")) for number, line in enumerate(file, 1) if wanted.search(line)
                ]
        except (OSError, UnicodeDecodeError):
            continue
        found.extend((path, number, line) for number, line in lines)
    told("grep", pattern=pattern, folder=str(folder), count=len(found))
    return found


def _walk(folder, hidden):
    for here, folders, names in os.walk(folder):
        if not hidden:
            folders[:] = [name for name in folders if not name.startswith(".")]
            names = [name for name in names if not name.startswith(".")]
        folders.sort()
        for name in sorted(names):
            yield os.path.normpath(os.path.join(here, name))


def _matches(path, folder, pattern):
    return fnmatch.fnmatch(os.path.basename(path), pattern) or fnmatch.fnmatch(
        os.path.relpath(path, folder), pattern
    )


# --- Shell -----------------------------------------------------------------------------------------


class Ran(str):
    """The output of a command, on both streams; `.code` is its exit code."""

    code = 0


def bash(command, timeout=None, check=True):
    """bash(command): runs a command of the shell and returns its output; raises if it fails, unless check=False."""
    return _run("bash", ["bash", "-c", command], command, timeout, check)


def run(*words, **keys):
    """run("git", "status"): runs a program without a shell and returns its output; takes timeout and check as bash."""
    timeout, check = keys.pop("timeout", None), keys.pop("check", True)
    if keys:
        raise TypeError("run() takes timeout and check, not %s" % ", ".join(sorted(keys)))
    words = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in words]
    return _run("run", words, " ".join(words), timeout, check)


def _run(op, words, shown, timeout, check):
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout
    )
    text = Ran(done.stdout.decode("utf-8", "replace"))
    text.code = done.returncode
    told(op, command=shown[:200], code=done.returncode)
    if check and done.returncode:
        raise RuntimeError("%s failed with exit code %d:\n%s" % (shown[:200], done.returncode, text[-4000:]))
    return text


# --- Environment and artifacts ---------------------------------------------------------------------


def getenv(name=None, default=None):
    """getenv(name): a variable of the environment; without a name, all of them."""
    told("getenv", name=name)
    return dict(os.environ) if name is None else os.environ.get(name, default)


def setenv(name, value):
    """setenv(name, value): sets a variable for this kernel and its children; None removes it."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = str(value)
    told("setenv", name=name)


def output(name):
    """output(id): all that was written to an artifact, as `artifact://ID` in a result names it."""
    name = str(name)
    if name.startswith("artifact://"):
        name = name[len("artifact://") :]
    if not name.isalnum():
        raise ValueError("%r is not the id of an artifact" % name)
    folder = os.environ.get("PI_ARTIFACTS_DIR")
    if folder is None:
        raise LookupError("this kernel has no artifacts: PI_ARTIFACTS_DIR is not set")
    for file in sorted(os.listdir(folder)):
        if file.split(".")[0] == name and not file.endswith(".json"):
            with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as opened:
                text = opened.read()
            told("output", id=name, chars=len(text))
            return text
    raise LookupError("there is no artifact %s" % name)


# --- Tools of the host -----------------------------------------------------------------------------


class ToolError(Exception):
    """A tool of the host said no, or could not be reached."""


class Answer(str):
    """The answer of a tool: its text. `.about` is its note on that, `.images` are pairs of a type and bytes, and
    `.data` is its data."""

    about = ""
    images = ()
    data = None


class Tools:
    """tool.NAME(…): calls a tool of the host, as tool.read(path="nb.ipynb"), and returns its text."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def call(**arguments):
            return call_tool(name, arguments)

        call.__name__ = call.__qualname__ = name
        return call

    def __repr__(self):
        return self.__doc__


tool = Tools()


def call_tool(name, arguments):
    """Calls a tool of the host."""
    if not GIVEN.get("url"):
        raise ToolError(GIVEN.get("why") or "no tools can be called from this kernel")
    body = json.dumps({"session": GIVEN["session"], "tool": name, "arguments": arguments}).encode()
    if len(body) > MOST_BODY:
        raise ToolError(
            "the arguments of %s are too large: %d bytes, at most %d" % (name, len(body), MOST_BODY)
        )
    address = urlsplit(GIVEN["url"])
    connection = http.client.HTTPConnection(address.hostname, address.port)
    headers = {"Authorization": "Bearer " + GIVEN["token"], "Content-Type": "application/json"}
    try:
        connection.request("POST", address.path, body, headers)
        response = connection.getresponse()
        told_back = response.read()
    except OSError as error:
        raise ToolError("the host cannot be reached at %s: %s" % (GIVEN["url"], error)) from None
    finally:
        connection.close()
    try:
        answer = json.loads(told_back.decode())
    except ValueError:
        answer = {"text": told_back.decode("utf-8", "replace"), "failed": True}
    failed = response.status != 200 or answer.get("failed", False)
    told("tool", tool=name, failed=failed)
    if failed:
        raise ToolError(answer.get("text", "").strip() or "HTTP %d" % response.status)
    text = Answer(answer.get("text", ""))
    text.about = answer.get("about", "")
    text.images = tuple(
        (image["mime"], base64.b64decode(image["data"])) for image in answer.get("images", ())
    )
    text.data = answer.get("data")
    return text


def helpers():
    """helpers(): lists these helpers, a line each."""
    lines = [globals()[name].__doc__.splitlines()[0] for name in GIVEN["names"]]
    print("\n".join(lines))
