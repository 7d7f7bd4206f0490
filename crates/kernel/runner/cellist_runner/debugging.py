"""The debugger, after an error or from a statement on; also stands in for IPython.core.debugger."""

import sys

from .base import is_ours, library, load, state

pdb = library("pdb")


class Pdb(pdb.Pdb):
    """Python's debugger with IPython's view of a place: the lines around it."""

    __module__ = "IPython.core.debugger"

    def __init__(self, completekey=None, stdin=None, stdout=None, context=5, **keys):
        for name in ("color_scheme", "theme_name"):
            keys.pop(name, None)
        super().__init__(completekey or "tab", stdin, stdout, **keys)
        self.prompt = "ipdb> "
        self.context = int(context or 5)
        # Asks by way of `input`, which fails with a reason where nobody can answer.
        self.use_rawinput = 1

    def get_stack(self, frame, trace):
        """The places of the program, without those of the runner."""
        stack = [
            entry for entry in super().get_stack(frame, trace)[0] if not is_ours(entry[0].f_code.co_filename)
        ]
        return stack, len(stack) - 1

    def print_stack_entry(self, frame_lineno, *_arguments, **_keys):
        """Shows one place."""
        frame, number = frame_lineno
        self.message(self.place_text(frame, number))

    def place_text(self, frame, number):
        """A place: its file, line and function, and the lines around it."""
        linecache, name = library("linecache"), frame.f_code.co_filename
        function = frame.f_code.co_name
        head = "> %s(%d)%s()" % (name, number, function)
        lines = linecache.getlines(name, frame.f_globals)
        first = max(0, min(number - 1 - self.context // 2, len(lines) - self.context))
        shown = []
        for at, line in enumerate(lines[first : first + self.context], first + 1):
            digits = str(at)
            start = (
                "-" * (5 - len(digits)) + "> " + digits if at == number else " " * (7 - len(digits)) + digits
            )
            shown.append("%s %s" % (start, line.rstrip("\n")))
        return "\n".join([head] + shown) + "\n"


def post_mortem(error):
    """Looks at the place where an error was raised."""
    trace = error.__traceback__
    if not has_place(trace):
        print("The error has no place in the program: nothing to debug.", file=sys.stderr)
        return
    debugger = Pdb()
    debugger.reset()
    debugger.interaction(None, trace)


def has_place(trace):
    """Whether a traceback leads through the program."""
    while trace is not None and is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace is not None


def run_statement(code):
    """Runs a statement under the debugger, from its first line on."""
    code = load("syntax").python_source(code)
    Pdb().run(code, state.runner.namespace.variables)


def set_trace(frame=None, header=None):
    """Starts the debugger where it is called."""
    if header:
        print(header)
    Pdb().set_trace(frame or sys._getframe().f_back)


def fill(module):
    """Fills IPython.core.debugger."""
    module.Pdb = module.InterruptiblePdb = Pdb
    module.set_trace = set_trace
