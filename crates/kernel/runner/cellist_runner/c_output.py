"""Text that C code left in its own buffers."""

import os
import sys

from .base import library


class COutput:
    """Flushes the buffers of C code, once any was loaded."""

    def __init__(self):
        self.modules_seen = 0
        self.is_used = False
        self.flush_streams = None

    def flush(self):
        """Empties the buffers of C's own streams."""
        if len(sys.modules) != self.modules_seen:
            self.modules_seen = len(sys.modules)
            self.is_used = self.is_used or uses_c_code()
        if self.is_used:
            if self.flush_streams is None:
                self.flush_streams = make_c_flush()
            self.flush_streams()


def uses_c_code():
    """Whether a module was loaded that may print by way of C: one that is not part of Python."""
    if "ctypes" in sys.modules or "_cffi_backend" in sys.modules:
        return True
    own = os.path.dirname(os.__file__) + os.sep + "lib-dynload"
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.endswith((".so", ".dylib", ".pyd")) and not path.startswith(own):
            return True
    return False


def make_c_flush():
    """A function that empties the buffers of C's own streams."""
    try:
        ctypes = library("ctypes")
        c_library = ctypes.CDLL(None)
        fflush = c_library.fflush
        fflush.argtypes, fflush.restype = [ctypes.c_void_p], ctypes.c_int
        streams = []
        for names in (("stdout", "__stdoutp"), ("stderr", "__stderrp")):
            for name in names:
                try:
                    streams.append(ctypes.c_void_p.in_dll(c_library, name))
                    break
                except ValueError:
                    pass
    except Exception:
        return lambda: None

    def flush():
        # Not fflush(NULL): it waits for streams that another thread reads from.
        for stream in streams:
            fflush(stream)

    return flush
