"""The runner itself: sets up the place where the user's code lives, and runs cells in it."""

import _signal
import _thread
import builtins
import os
import sys
import threading

from .base import CO_COROUTINE, OWNER, PROTOCOL, START_PATH, STDERR, load, state
from .c_output import COutput
from .compiling import Compiler
from .display import display
from .hooks import WATCHED, hooks
from .interrupts import interrupts
from .jsontext import from_json
from .namespace import Namespace
from .outlet import Outlet, follow_threads
from .prelude import run_prelude
from .requests import Requests
from .shell import ZMQExitAutocall, ZMQInteractiveShell, get_ipython, no_input
from .tasks import Tasks

# A cell that cannot be ended after so many attempts never can.
MOST_FAILURES = 20


class Cell:
    """One execution, and how far it is."""

    NEW, BEGUN, RUN, SHOWN = range(4)

    def __init__(self, request):
        self.execution = request["execution"]
        # A message of a front end to a comm, which runs in the place of code.
        self.message = request if request.get("request") == "comm" else None
        self.source = request.get("code", "")
        self.hidden = bool(request.get("hidden")) or self.message is not None
        self.variables = request.get("variables") or {}
        self.number = None
        self.filename = "<hidden>"
        self.ran = False
        self.error = None
        self.stage = Cell.NEW


class Runner:
    """Everything that lives as long as the process."""

    def __init__(self, descriptors, token):
        self.descriptors = descriptors
        self.pid = os.getpid()
        self.tasks = Tasks()
        self.outlet = Outlet(descriptors[1], token)
        self.requests = Requests(descriptors[0], self.outlet, self.tasks)
        self.namespace = Namespace()
        self.shell = ZMQInteractiveShell(self.namespace.variables, self.namespace.main)
        self.compiler = Compiler(self.namespace, self.shell)
        self.c_output = COutput()
        # The request that is being worked on, if any, and its cell.
        self.taken = []
        self.cell = None
        self.count = 0
        self.cell_name = "<cell>"
        # Whether the cell ends with the error shown now.
        self.ends = False
        # How often ending the cell failed, for instance since the program broke a module that we need.
        self.failures = 0

    # Setting up.

    def set_up(self):
        """Makes this process the place where the user's code lives."""
        follow_threads(threading.Thread)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = self.outlet.streams
        sys.modules["__main__"] = self.namespace.main
        builtins.display = display
        builtins.get_ipython = get_ipython
        builtins.__IPYTHON__ = True
        builtins.input = no_input
        builtins.exit = builtins.quit = ZMQExitAutocall()
        sys.displayhook = self.show_result
        sys.ps1, sys.ps2 = "In : ", "...: "
        sys.argv = [""]
        sys.path[:] = [os.getcwd()] + [entry for entry in START_PATH if entry != ""]
        sys.meta_path.insert(0, hooks)
        for name in WATCHED.intersection(sys.modules):
            hooks.after_import(sys.modules[name])
        _signal.signal(_signal.SIGINT, interrupts.handle)
        os.register_at_fork(
            before=self.outlet.before_fork,
            after_in_parent=self.outlet.after_fork,
            after_in_child=self.forked,
        )
        for name in ("system", "posix_spawn", "posix_spawnp"):
            if hasattr(os, name):
                setattr(os, name, self._separated(getattr(os, name)))
        try:
            import faulthandler

            faulthandler.enable(file=self.outlet.pipes[STDERR])
        except Exception:
            pass

    def _separated(self, function):
        def call(*arguments, **keys):
            self.outlet.separate()
            return function(*arguments, **keys)

        call.__name__, call.__doc__ = function.__name__, function.__doc__
        return call

    def forked(self):
        """In a forked child: it is no kernel."""
        for descriptor in self.descriptors:
            try:
                os.close(descriptor)
            except OSError:
                pass
        self.outlet.in_child()
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)

    # One cell.

    def execute(self, cell):
        """Runs one cell and says how it ended.

        Goes on where it was when it is called again: a signal handler of the program's may raise here too.
        """
        if cell.stage == Cell.NEW:
            self.begin(cell)
            cell.stage = Cell.BEGUN
        if cell.stage == Cell.BEGUN:
            cell.stage = Cell.RUN
            if cell.error is None:
                self.attempt(cell, lambda: self.run_cell(cell))
        if cell.stage == Cell.RUN:
            cell.stage = Cell.SHOWN
            self.show_end(cell)
        self.shell.last_execution_succeeded = cell.error is None
        self.tasks.leave()
        self.flush_streams()
        self.requests.end()
        cancelled = interrupts.happened and (
            isinstance(cell.error, KeyboardInterrupt) or type(cell.error).__name__ == "CancelledError"
        )
        self.outlet.send(
            "done",
            execution=cell.execution,
            status="ok" if cell.error is None else "error",
            execution_count=cell.number,
            cancelled=cancelled,
        )

    def begin(self, cell):
        """Gets everything ready for a cell, and says that it begins."""
        for name, value in cell.variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        interrupts.reset()
        if self.requests.begin(cell.execution):
            # Interrupted while a task kept it from beginning.
            interrupts.happened = True
            cell.error = KeyboardInterrupt()
        if not cell.hidden and cell.number is None:
            self.count += 1
            cell.number = self.count
            cell.filename = "<cell %d>" % cell.number
        self.cell_name = cell.filename
        self.outlet.current = cell.execution
        OWNER.set(cell.execution)
        self.outlet.send("started", execution=cell.execution, execution_count=cell.number)
        if _signal.getsignal(_signal.SIGINT) != interrupts.handle:
            _signal.signal(_signal.SIGINT, interrupts.handle)
        self.tasks.enter()

    def show_end(self, cell):
        """Shows the error that ended the cell, and its remaining output."""
        shown = Cell({"execution": None, "code": ""})
        failed = cell.error
        if failed is not None:
            self.attempt(shown, lambda: self.show_failure(failed))
        if not cell.hidden or cell.message is not None:
            self.attempt(cell, self.show_figures if cell.hidden else self.end_of_cell)
            if failed is None and cell.error is not None:
                failed = cell.error
                self.attempt(shown, lambda: self.show_failure(failed))
        if os.getpid() != self.pid:
            # The cell forked, and this is the child: it has no business here.
            status = load("errors").exit_status(cell.error)
            self.outlet.flush()
            os._exit(status)
        if shown.error is not None:
            name = type(failed).__name__
            self.outlet.send("error", name=name, message="", traceback=[name])

    def attempt(self, cell, function):
        """Runs code of the user's, which may be interrupted; keeps the first that was raised."""
        try:
            try:
                interrupts.armed = True
                function()
            finally:
                interrupts.armed = False
        except BaseException as error:
            interrupts.armed = False
            if cell.error is None:
                cell.error = error

    def run_cell(self, cell):
        """Runs the source of a cell."""
        if self.requests.cancelled == cell.execution:
            # The signal came when the cell had been taken and there was nothing to break off yet.
            interrupts.happened = True
            raise KeyboardInterrupt
        if cell.message is not None:
            load("comms").deliver(cell.message)
            cell.ran = True
            return
        source, filename, hidden = cell.source, cell.filename, cell.hidden
        if self.shell.reloads is not None and self.shell.reloads.on and not hidden:
            self.shell.reloads.run()
        if hidden:
            self.run_source(source, filename, False)
            cell.ran = True
            return
        self.namespace.remember(source, self.count)
        # A warning is shown again where another cell has the same line.
        self.namespace.variables.pop("__warningregistry__", None)
        events = self.shell.events
        if events.callbacks["pre_execute"] or events.callbacks["pre_run_cell"]:
            events.trigger("pre_execute")
            events.trigger("pre_run_cell", load("execution").result_of(cell).info)
        self.run_source(source, filename, True, True)
        cell.ran = True

    def run_source(self, source, filename, show, ends=False):
        """Runs source on the user's variables; the value of the last expression is shown.

        `ends` says that the cell ends with it.
        """
        shown = self.shell.interactivity() if show else "last_expr"
        value = self.run_parts(self.compiler.compile(source, filename, shown))
        if show and value is not None:
            self.ends = ends
            try:
                sys.displayhook(value)
            finally:
                self.ends = False

    def run_parts(self, parts):
        """Runs compiled code; returns the value of the last expression."""
        value = None
        for code in parts:
            if code is not None:
                value = eval(code, self.namespace.variables)
                if code.co_flags & CO_COROUTINE:
                    value = self.tasks.wait(value)
        return value if parts[-1] is not None else None

    def show_result(self, value):
        """Python's `sys.displayhook`: shows a value and remembers it."""
        if value is None:
            return
        data, metadata = self.shell.display_formatter.format(value)
        self.namespace.keep_result(value, self.count)
        if data:
            if self.outlet.forked:
                print(data.get("text/plain", ""))
                return
            send = self.outlet.send_last if self.ends else self.outlet.send
            send("result", execution_count=self.count, data=data, metadata=metadata)

    def show_error(self, error):
        """Shows an error that does not end the cell."""
        self.outlet.send("error", **load("errors").error_fields(error))

    def show_failure(self, error):
        """Shows the error that ended the cell."""
        if not self.outlet.forked:
            load("reporting").show_failure(self.shell, error)
        elif not isinstance(error, SystemExit):
            print("\n".join(load("errors").traceback_lines(error)), file=sys.stderr)

    def end_of_cell(self, result=None):
        """The steps after the code of each cell, or of code with a result that it ran."""
        if self.outlet.forked:
            return
        events = self.shell.events
        callbacks = events.callbacks["post_execute"] or events.callbacks["post_run_cell"]
        if self.outlet.held is not None and (callbacks or "matplotlib" in sys.modules):
            self.outlet.turn(None)
        if callbacks:
            events.trigger("post_execute")
            result = result or load("execution").result_of(self.cell)
            if not result.info.silent:
                events.trigger("post_run_cell", result)
        self.show_figures()

    def show_figures(self):
        """Shows the figures that code left open."""
        if "matplotlib" in sys.modules:
            try:
                load("figures").figures.at_end_of_cell()
            except Exception as error:
                self.show_error(error)

    def flush_streams(self):
        """Flushes the cell's buffers."""
        for stream in (sys.stdout, sys.stderr):
            if stream not in self.outlet.streams:
                try:
                    stream.flush()
                except Exception:
                    pass
        self.c_output.flush()

    # The loop.

    def serve(self):
        """Runs requests, one after the other, and lets tasks go on in between."""
        while True:
            try:
                if not self.taken:
                    self.cell = None
                    self.requests.wait(self.taken)
                    continue
                if self.taken[0]["request"] == "exit":
                    return
                if self.cell is None:
                    self.cell = Cell(self.taken[0])
                self.execute(self.cell)
                self.taken.clear()
                self.failures = 0
                if self.shell.exit_now:
                    return
            except BaseException as error:
                # Raised by a signal handler of the program's, outside of its own code.
                cell = self.cell
                if cell is not None and cell.stage == Cell.RUN and not cell.ran and cell.error is None:
                    cell.error = error
                else:
                    self.report(error)
                    self.failures += bool(self.taken)
                if self.failures > MOST_FAILURES:
                    os._exit(1)

    def report(self, error):
        """Shows errors of tasks that nothing awaits."""
        try:
            sys.excepthook(type(error), error, error.__traceback__)
        except BaseException:
            pass


def main(requests, frames):
    """Says hello and serves requests, until told to leave."""
    for descriptor in (requests, frames):
        os.set_inheritable(descriptor, False)
    START_PATH[:] = [entry for entry in sys.path if entry != ""]
    data = b""
    while b"\n" not in data:
        piece = os.read(requests, 65536)
        if not piece:
            os._exit(1)
        data += piece
    first, rest = data.split(b"\n", 1)
    request = from_json(first)
    runner = state.runner = Runner((requests, frames), request["token"])
    runner.set_up()
    notices = run_prelude(runner, request)
    runner.outlet.send(
        "hello",
        protocol=PROTOCOL,
        python="%d.%d.%d" % sys.version_info[:3],
        implementation=sys.implementation.name,
        executable=sys.executable,
        pid=runner.pid,
        notices=notices,
    )
    _thread.start_new_thread(runner.requests.read, (rest,))
    while True:
        try:
            runner.serve()
            return
        except BaseException:
            # It came while another was being dealt with.
            pass
