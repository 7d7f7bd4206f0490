"""Shared by all parts of the runner: limits, the descriptors' numbers, and loading modules."""

import _contextvars
import _thread
import os
import sys

PROTOCOL = 1
# A longer frame is refused: its reader has to hold it in memory, several times over.
LARGEST_FRAME = 256 * 1024 * 1024

MAIN_THREAD = _thread.get_ident()
# Where Python looks for modules, without the working folder.
START_PATH = []

STDOUT, STDERR = 0, 1
# The execution that started the code which runs here: tasks inherit it, and so do threads.
OWNER = _contextvars.ContextVar("cellist_owner", default=None)
CO_COROUTINE = 0x80

# Where our own code is, and whether its compiled form is kept there.
_HOME = os.path.dirname(__file__) + os.sep
_KEEPS_BYTECODE = not sys.dont_write_bytecode


class State:
    """Holds the one runner of the process, for all parts."""

    runner = None


state = State()


def library(name):
    """Imports a module of the standard library, whatever files of the same name lie in the working folder."""
    module = sys.modules.get(name)
    # Another thread may be about to import it.
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    path = sys.path
    sys.path = START_PATH
    try:
        __import__(name)
    finally:
        sys.path = path
    return sys.modules[name]


def load(name):
    """A part of the runner that is loaded when it is first used."""
    name = "cellist_runner." + name
    if name in sys.modules:
        return library(name)
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, not _KEEPS_BYTECODE
    try:
        return library(name)
    finally:
        sys.dont_write_bytecode = kept


def is_ours(filename):
    """Whether code of that file is the runner's own."""
    return filename.startswith(_HOME)
