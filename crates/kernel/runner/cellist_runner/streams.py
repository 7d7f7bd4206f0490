"""`sys.stdout` and `sys.stderr`."""

import io
import os

from .base import OWNER, STDOUT
from .interrupts import interrupts

# Stands for writers to the pipes that we do not know: children, mostly.
OTHERS = object()


class Buffer(io.BufferedWriter):
    """Keeps the beginning of a line until its end, and marks each turn from the other stream.

    A child may have made the pipe non-blocking; that is taken back when it is noticed.
    """

    def __init__(self, outlet, number):
        io.BufferedWriter.__init__(self, io.FileIO(outlet.pipes[number], "w", closefd=False))
        self.outlet = outlet

    def write(self, data):
        """Takes bytes of the program's."""
        outlet = self.outlet
        if outlet.shared or OWNER.get() != outlet.current:
            return outlet.write(self, data)
        if outlet.written is not self:
            outlet.turn(self)
            interrupts.settle()
        return self.put(data)

    def put(self, data):
        """Keeps bytes, or writes them."""
        try:
            return io.BufferedWriter.write(self, data)
        except BlockingIOError as error:
            os.set_blocking(self.fileno(), True)
            rest = memoryview(data).cast("B")[error.characters_written :]
            return error.characters_written + io.BufferedWriter.write(self, rest)

    def flush(self):
        """Writes out the buffer."""
        try:
            io.BufferedWriter.flush(self)
        except BlockingIOError:
            os.set_blocking(self.fileno(), True)
            io.BufferedWriter.flush(self)


class TextStream(io.TextIOWrapper):
    """`sys.stdout` and `sys.stderr`: lines go out as they end, as on a terminal."""

    def __init__(self, outlet, number):
        io.TextIOWrapper.__init__(
            self,
            Buffer(outlet, number),
            encoding="utf-8",
            errors="backslashreplace",
            newline="\n",
            line_buffering=True,
            write_through=True,
        )
        self.number = number
        self.mode = "w"

    @property
    def name(self):
        """As Python's own streams are called."""
        return "<stdout>" if self.number == STDOUT else "<stderr>"

    def fileno(self):
        """The descriptor that C code writes to; our own is a copy of it."""
        return self.number + 1

    def isatty(self):
        """Never: it is a pipe."""
        return False

    def close(self):
        """A program that closes its output must not silence the cells that follow."""
        self.flush()
