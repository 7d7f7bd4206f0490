"""The event loop of the cells."""

import sys

from .base import MAIN_THREAD, library, state
from .interrupts import interrupts


class Tasks:
    """The event loop of the cells: made when asyncio is imported, kept turning between cells.

    While a cell runs plain code the loop counts as running, so that `asyncio.create_task` works at the top
    level; its tasks go on when a cell awaits and between cells.
    """

    def __init__(self):
        self.loop = None
        self.in_cell = False
        # Whether the loop is run by us, and whether that is between cells.
        self.runs = False
        self.turning = False

    def prepare(self):
        """Makes the loop, if a cell may want one."""
        asyncio = sys.modules.get("asyncio")
        if asyncio is None or not hasattr(asyncio, "new_event_loop"):
            return
        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
            if not hasattr(asyncio.run, "__wrapped__"):
                asyncio.run = asyncio.runners.run = self._outside(asyncio.run)
                kind = getattr(asyncio, "Runner", None)
                if kind is not None:
                    kind.run = self._outside(kind.run)
        if self.in_cell:
            self._pretend(asyncio, True)

    def _pretend(self, asyncio, runs):
        """Makes the loop look as if it ran, or no longer: cells count as a part of it."""
        asyncio._set_running_loop(self.loop if runs else None)
        try:
            # Attributes that asyncio's own loops use.
            self.loop._thread_id = MAIN_THREAD if runs else None
        except AttributeError:
            pass

    def _run(self, function, *arguments):
        """Runs the loop."""
        asyncio = sys.modules["asyncio"]
        self._pretend(asyncio, False)
        self.runs = True
        try:
            return function(*arguments)
        finally:
            self.runs = False
            if self.in_cell:
                self._pretend(asyncio, True)

    def _outside(self, function):
        """Lets code of a cell run a loop of its own, as it could in a script."""

        def run(*arguments, **keys):
            asyncio = sys.modules["asyncio"]
            outer = asyncio._get_running_loop()
            if outer is None or outer is not self.loop or self.runs:
                return function(*arguments, **keys)
            asyncio._set_running_loop(None)
            try:
                return function(*arguments, **keys)
            finally:
                if self.in_cell:
                    asyncio._set_running_loop(outer)
                asyncio.set_event_loop(outer)

        interrupts.loop_codes.add(run.__code__)
        return library("functools").wraps(function)(run)

    def enter(self):
        """A cell begins."""
        self.in_cell = True
        if "asyncio" in sys.modules:
            self.prepare()

    def leave(self):
        """A cell ended."""
        self.in_cell = False
        if self.loop is not None:
            self._pretend(sys.modules["asyncio"], False)

    def wait(self, coroutine):
        """Runs the coroutine of a cell with `await` at its top level."""
        if self.loop is None or self.loop.is_closed():
            library("asyncio")
            self.prepare()
        task = self.loop.create_task(coroutine)
        interrupts.loop, interrupts.task = self.loop, task
        try:
            return self._run(self.loop.run_until_complete, task)
        finally:
            interrupts.task = None
            if not task.done():
                # An interrupt that landed in another task's code, or SystemExit there.
                task.cancel()
                try:
                    self._run(self.loop.run_until_complete, task)
                except BaseException:
                    pass

    def turn_once(self):
        """Between cells: lets tasks go on that can, even where the next request has come."""
        if getattr(self.loop, "_ready", None):
            self.loop.call_soon(self.loop.stop)
            self.turn()

    def turn(self):
        """Between cells: lets tasks go on until a request comes."""
        self.turning = True
        try:
            self._run(self.loop.run_forever)
        except BaseException as error:
            state.runner.report(error)
        finally:
            self.turning = False

    def wake(self):
        """From another thread: a request came."""
        loop = self.loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._stop_turning)
            except RuntimeError:
                pass

    def _stop_turning(self):
        # The cell may have begun by now, and then it is the loop of the cell.
        if self.turning:
            self.loop.stop()


interrupts.loop_codes.add(Tasks._run.__code__)
