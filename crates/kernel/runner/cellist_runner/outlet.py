"""The way to the host: two output pipes and the frames, in one order."""

import _thread
import errno
import os
import sys
import threading
from os import write

from .base import LARGEST_FRAME, OWNER, STDERR, STDOUT, state
from .interrupts import interrupts
from .jsontext import to_json
from .streams import OTHERS, TextStream

# The size that a pipe takes in one piece, on any system.
ONE_PIECE = 512


def write_each(targets):
    """Writes some bytes to each of some pipes, without fail.

    A signal handler of the program's may run between any two steps of Python code, and raise. So the writes
    are made inside one call, which notes how far it got, and an exception is raised when all is written.
    """
    written, raised = [], None
    while True:
        try:
            while len(written) < len(targets):
                descriptors, pieces = zip(*targets[len(written) :])
                written.extend(map(write, descriptors, pieces))
            break
        except BlockingIOError:
            # A child made the pipe non-blocking.
            os.set_blocking(targets[len(written)][0], True)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EBADF):
                raise
            raised = error
    if raised is not None:
        raise raised


def write_whole(descriptor, data):
    """Writes bytes that a pipe may take in several pieces, without fail."""
    view, counts, raised = memoryview(data), [], None
    while True:
        try:
            while sum(counts) < len(view):
                counts.extend(map(write, (descriptor,), (view[sum(counts) :],)))
            break
        except BlockingIOError:
            os.set_blocking(descriptor, True)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.EBADF):
                raise
            raised = error
    if raised is not None:
        raise raised


class Outlet:
    """The two output pipes and the frames, in one order.

    Text of the program is written at once. At each turn from one stream to the other, and before each frame
    that has a place among the text, a mark with the next number goes into both pipes.
    """

    def __init__(self, frames, token):
        self.frames = frames
        self.prefix = b"\0" + token.encode("ascii")
        # Copies of our own: a program may point 1 and 2 elsewhere, and children do not inherit these.
        self.pipes = (os.dup(1), os.dup(2))
        self.number = 0
        self.written = None
        # The execution that runs, or ran last, and whether other threads may write.
        self.current = None
        self.shared = False
        self.forked = False
        self.order = threading.RLock()
        self.line = _thread.allocate_lock()
        # Whether marks are being written, and frames that came in between: from a signal handler.
        self.inside = False
        self.later = []
        # A frame that goes along with the next one, unless text comes before that.
        self.held = None
        self.streams = [TextStream(self, STDOUT), TextStream(self, STDERR)]

    def _mark(self, kind):
        """The next mark, for both pipes."""
        self.number += 1
        mark = b"%s%s%d;" % (self.prefix, kind, self.number)
        return [(self.pipes[STDOUT], mark), (self.pipes[STDERR], mark)]

    def flush(self):
        """Writes out the buffered text of both streams."""
        for stream in self.streams:
            stream.flush()

    @interrupts.whole
    def turn(self, stream):
        """The text that follows is `stream`'s."""
        with self.order:
            if self.inside:
                return
            self.inside = True
            try:
                if self.held is not None:
                    self.flush()
                    self._send_one(self._with_held(None))
                elif self.written is not None:
                    self.flush()
                    if not self.forked:
                        write_each(self._mark(b"t"))
                self.written = stream
            finally:
                self.inside = False

    def owner(self):
        """The earlier execution whose code this is; none where it is that of the one that runs."""
        owner = OWNER.get()
        return None if owner == self.current else owner

    def write(self, buffer, data):
        """Writes text of one of several threads, or of a task of an earlier cell."""
        with self.order:
            owner = None if self.inside or self.forked else self.owner()
            if owner is not None:
                written = self._write_late(buffer, owner, data)
            else:
                if self.written is not buffer:
                    self.turn(buffer)
                written = buffer.put(data)
        interrupts.settle()
        return written

    @interrupts.whole
    def _write_late(self, buffer, owner, data):
        """Writes text of an earlier cell's, between frames that say whose it is."""
        self._send(to_json({"execution": owner, "frame": "owner"}))
        try:
            self.turn(buffer)
            written = buffer.put(data)
            buffer.flush()
        finally:
            self._send(to_json({"execution": None, "frame": "owner"}))
        return written

    def separate(self):
        """Separates other processes' output in the pipes from the text before it and the text that follows."""
        if self.forked:
            return
        self.turn(OTHERS)
        interrupts.settle()

    @interrupts.whole
    def _send(self, body):
        with self.order:
            self.later.append(body)
            if self.inside:
                return
            self.inside = True
            try:
                while self.later:
                    self.flush()
                    self._send_one(self._with_held(self.later.pop(0)))
            finally:
                self.inside = False

    @interrupts.whole
    def _hold(self, body):
        with self.order:
            if self.inside or self.held is not None or len(body) > ONE_PIECE:
                self._send(body)
                return
            self.held = body
            self.written = None

    def _with_held(self, body):
        """A frame, and before it the one that was held: lines that share a mark."""
        held, self.held = self.held, None
        if held is None or body is None:
            return held or body
        return held + b'\n{"mark":%d,' % (self.number + 1) + body[1:]

    def _send_one(self, body):
        targets = self._mark(b"f")
        self.written = None
        head = b'{"mark":%d,' % self.number
        with self.line:
            if len(body) + len(head) < ONE_PIECE:
                write_each(targets + [(self.frames, head + body[1:] + b"\n")])
                return
            write_each(targets)
            if len(body) < 65536:
                write_whole(self.frames, head + body[1:] + b"\n")
                return
            # A large one is not copied.
            write_each([(self.frames, head)])
            write_whole(self.frames, memoryview(body)[1:])
            write_each([(self.frames, b"\n")])

    def send(self, frame, **fields):
        """Sends a frame that has a place among the text."""
        self._put(self._send, frame, fields)

    def send_last(self, frame, **fields):
        """Sends a frame that the end of the cell is to follow at once, together with that.

        Python's output in between comes behind it all the same.
        """
        self._put(self._hold, frame, fields)

    def _put(self, send, frame, fields):
        if self.forked:
            return
        fields["frame"] = frame
        owner = self.owner()
        if owner is not None:
            fields["owner"] = owner
        body = to_json(fields)
        if len(body) > LARGEST_FRAME:
            raise ValueError(
                "a %s of %d bytes is too large to be shown: the limit is %d bytes"
                % (frame, len(body), LARGEST_FRAME)
            )
        send(body)
        interrupts.settle()

    def reply(self, request, **fields):
        """Answers a request, at once: it has no place among the text."""
        if self.forked or request is None:
            return
        fields["frame"] = "reply"
        fields["reply_to"] = request
        body = to_json(fields) + b"\n"
        with self.line:
            write_whole(self.frames, body)

    @interrupts.whole
    def before_fork(self):
        """Leaves nothing in a buffer that the child would write a second time."""
        if not self.forked:
            self.turn(OTHERS)
        self.order.acquire()

    @interrupts.whole
    def after_fork(self):
        """In the parent: lets go."""
        self.order.release()

    def in_child(self):
        """A forked child writes text, but says nothing to the host."""
        self.forked = True
        self.inside = False
        self.order = threading.RLock()
        old = self.streams
        self.streams = [TextStream(self, STDOUT), TextStream(self, STDERR)]
        for name in ("stdout", "__stdout__"):
            if getattr(sys, name) is old[STDOUT]:
                setattr(sys, name, self.streams[STDOUT])
        for name in ("stderr", "__stderr__"):
            if getattr(sys, name) is old[STDERR]:
                setattr(sys, name, self.streams[STDERR])


def follow_threads(thread):
    """Has threads inherit the execution that starts them, so that their text is known as its output."""
    start, run = thread.start, thread._bootstrap_inner

    def _start(self):
        self._cellist_owner = OWNER.get()
        state.runner.outlet.shared = True
        start(self)

    def _bootstrap_inner(self):
        OWNER.set(getattr(self, "_cellist_owner", None))
        run(self)

    thread.start, thread._bootstrap_inner = _start, _bootstrap_inner
