"""Requests of the host: taken in a thread of its own, also while a cell runs."""

import _signal
import _thread
import os

from .base import MAIN_THREAD, library, load
from .interrupts import interrupts
from .jsontext import from_json

try:
    from _queue import Empty, SimpleQueue
except ImportError:
    from queue import Empty, SimpleQueue

# Questions about code, and the part that answers them.
QUESTIONS = {
    "comm_info": "comms",
    "complete": "completion",
    "inspect": "inspection",
    "is_complete": "completeness",
}


class Requests:
    """Takes requests, answers some at once, and knows which execution runs or is about to."""

    def __init__(self, descriptor, outlet, tasks):
        self.descriptor = descriptor
        self.outlet = outlet
        self.tasks = tasks
        self.queue = SimpleQueue()
        self.lock = _thread.allocate_lock()
        self.running = None
        # An execution that was taken and has not begun, and one that must not begin.
        self.queued = None
        self.cancelled = None

    def wait(self, taken):
        """Waits for a request, or at least until something has happened."""
        loop = self.tasks.loop
        if loop is None or loop.is_closed():
            # In one call, so that nothing can come between taking it and having it.
            taken.extend(map(self.queue.get, (True,)))
            return
        self.tasks.turn_once()
        try:
            taken.extend(map(self.queue.get, (False,)))
        except Empty:
            self.tasks.turn()

    def begin(self, execution):
        """An execution begins; says whether it was cancelled before."""
        with self.lock:
            self.running, self.queued = execution, None
            return self.cancelled == execution

    def end(self):
        """Nothing runs any more."""
        with self.lock:
            self.running = None

    def read(self, rest):
        """Takes requests until the host is gone."""
        _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGINT])
        pieces = [rest]
        while True:
            data = os.read(self.descriptor, 65536)
            if not data:
                abandoned()
            pieces.append(data)
            if b"\n" not in data:
                continue
            lines = b"".join(pieces).split(b"\n")
            pieces = [lines.pop()]
            for line in lines:
                self.take(from_json(line))

    def take(self, request):
        """One request."""
        kind = request["request"]
        if kind in ("execute", "comm"):
            with self.lock:
                self.queued = request["execution"]
            self.queue.put(request)
            self.tasks.wake()
        elif kind == "interrupt":
            self.outlet.reply(request.get("id"), running=self.interrupt(request["execution"]))
        elif kind == "ping":
            self.outlet.reply(request.get("id"), running=self.running)
        elif kind == "exit":
            if self.running is not None:
                abandoned()
            self.queue.put(request)
            self.tasks.wake()
        elif kind in QUESTIONS:
            # Looking at a value may run code of the user's, and that may take for ever.
            _thread.start_new_thread(self.answer, (request,))
        else:
            self.outlet.reply(request.get("id"), error="there is no request %r" % kind)

    def interrupt(self, execution):
        """Interrupts an execution if it runs, or is about to; says whether it does."""
        with self.lock:
            if execution not in (self.queued, self.running):
                return False
            self.cancelled = execution
            if self.queued == execution:
                # Some task has kept the loop since the last cell.
                interrupts.breaks_in = True
            _thread.start_new_thread(self.insist, (execution, interrupts.handled))
            if os.getpgrp() == os.getpid():
                os.killpg(os.getpid(), _signal.SIGINT)
            else:
                os.kill(os.getpid(), _signal.SIGINT)
            return True

    def insist(self, execution, handled):
        """Sends the signal again, to the main thread alone, until it is noticed.

        One that comes just before a call into the system that waits is noted by Python and looked at only
        when the call returns. That is a moment in which others get Python's lock, so it is not rare.
        """
        sleep, wait = library("time").sleep, 0.01
        while True:
            sleep(wait)
            wait = min(wait * 2, 0.5)
            with self.lock:
                if interrupts.handled != handled or execution not in (self.running, self.queued):
                    return
                if _signal.getsignal(_signal.SIGINT) != interrupts.handle:
                    return
                _signal.pthread_kill(MAIN_THREAD, _signal.SIGINT)

    def answer(self, request):
        """Answers a question about code."""
        try:
            fields = load(QUESTIONS[request["request"]]).answer(request)
        except BaseException as error:
            fields = {"error": "%s: %s" % (type(error).__name__, error)}
        self.outlet.reply(request.get("id"), **fields)


def abandoned():
    """The host is gone: so is everything that was started for it."""
    try:
        for process in descendants(os.getpid()):
            os.kill(process, _signal.SIGKILL)
    except OSError:
        pass
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), _signal.SIGKILL)
    os._exit(1)


def descendants(process):
    """The descendants of a process, also in sessions of their own; only Linux tells."""
    found = []
    for task in os.listdir("/proc/%d/task" % process):
        with open("/proc/%d/task/%s/children" % (process, task)) as children:
            for child in map(int, children.read().split()):
                found += descendants(child) + [child]
    return found
