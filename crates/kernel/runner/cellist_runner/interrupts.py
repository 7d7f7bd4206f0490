"""SIGINT, and where it may break in."""

import _thread
import os
import sys

from .base import MAIN_THREAD, state


class Interrupts:
    """Turns SIGINT into KeyboardInterrupt, but only where a cell's own code runs."""

    def __init__(self):
        # Code that must not be left half way: see `whole`.
        self.whole_codes = set()
        # Code of ours that runs a loop.
        self.loop_codes = set()
        self.armed = False
        self.deferred = False
        self.happened = False
        # How often the handler ran.
        self.handled = 0
        # Whether a task that runs between cells is to be broken off.
        self.breaks_in = False
        # The loop and the task of a cell that awaits.
        self.loop = None
        self.task = None

    def whole(self, function):
        """Marks a function that an interrupt may not cut in two; it is raised at its end instead."""
        self.whole_codes.add(function.__code__)
        return function

    def settle(self):
        """Raises an interrupt that came during a shielded function."""
        if self.deferred and _thread.get_ident() == MAIN_THREAD:
            self.deferred = False
            if self.armed:
                raise KeyboardInterrupt

    def handle(self, _number, frame):
        """The handler of SIGINT."""
        self.handled += 1
        if self.breaks_in and state.runner.tasks.turning:
            self.breaks_in = False
            raise KeyboardInterrupt
        if not self.armed:
            return
        self.happened = True
        outer = frame
        while outer is not None:
            if outer.f_code in self.whole_codes:
                self.deferred = True
                return
            outer = outer.f_back
        if self.task is not None and self._in_loop(frame):
            # Raised inside the loop's own bookkeeping it could lose a callback of some other task.
            self.loop.call_soon_threadsafe(self.task.cancel)
            return
        raise KeyboardInterrupt

    def _in_loop(self, frame):
        """Whether the loop itself runs, rather than code of a task."""
        loop_folder = os.path.dirname(sys.modules["asyncio"].__file__)
        while frame is not None and frame.f_code not in self.loop_codes:
            name = frame.f_code.co_filename
            if os.path.dirname(name) != loop_folder and os.path.basename(name) != "selectors.py":
                return False
            frame = frame.f_back
        return True

    def reset(self):
        """Before a cell: drops interrupts of the last one."""
        self.deferred = False
        self.happened = False
        self.breaks_in = False


interrupts = Interrupts()
