"""The shell of `get_ipython()`."""

import re
import sys
import types

from .base import is_ours, library, load, state
from .display import DisplayPublisher
from .formatting import DisplayFormatter

# Magics that get their line as it was written: their code is Python, in which braces are dictionaries.
UNEXPANDED = ("capture", "debug", "macro", "pinfo", "pinfo2", "prun", "time", "timeit")
# How much of a traceback is shown, in the order in which `%xmode` goes through them.
XMODES = ("Plain", "Context", "Verbose", "Minimal", "Docs", "Doctest")
INTERACTIVITIES = ("all", "last", "last_expr", "last_expr_or_assign", "none")


class UsageError(Exception):
    """A magic that does not exist, or was used wrongly."""

    __module__ = "IPython.core.error"


def not_supported(what):
    """The error for features of IPython alone."""
    return UsageError("%s is not supported by the runner: use `--backend jupyter`." % what)


class StdinNotImplementedError(NotImplementedError):
    """A program asked for input, and no user can give it."""

    __module__ = "IPython.core.error"


def _no_input(what):
    state.runner.outlet.send("input_requested")
    raise StdinNotImplementedError("%s was called, but this frontend does not support input requests." % what)


def no_input(prompt="", /):
    """The `input` of the runner: it fails at once."""
    _no_input("raw_input")


def no_getpass(prompt="Password: ", stream=None, **_keys):
    """The `getpass` of the runner: it fails at once."""
    _no_input("getpass")


def warn(text):
    """Warns about the use of a magic; each time, and without a line of ours."""
    library("warnings").warn_explicit(text, UserWarning, "<magic>", 1, registry={})


class ZMQExitAutocall:
    """`exit` and `quit`: the cell goes on, and the kernel ends after it."""

    __module__ = "IPython.core.autocall"

    def __call__(self, keep_kernel=False):
        state.runner.shell.exit_now = not keep_kernel


class Events:
    """Functions that libraries want called around cells."""

    NAMES = ("pre_execute", "pre_run_cell", "post_execute", "post_run_cell", "shell_initialized")

    def __init__(self):
        self.callbacks = {name: [] for name in self.NAMES}

    def register(self, event, function):
        """Registers a function."""
        if function not in self.callbacks[event]:
            self.callbacks[event].append(function)

    def unregister(self, event, function):
        """Forgets a function."""
        self.callbacks[event].remove(function)

    def trigger(self, event, *arguments):
        """Calls the functions."""
        for function in list(self.callbacks[event]):
            try:
                function(*arguments)
            except Exception as error:
                print("Error in callback %r (for %s):" % (function, event), file=sys.stderr)
                state.runner.show_error(error)


def print_page(text, *_arguments, **_keys):
    """Shows a text of several pages: all of it."""
    print(text.get("text/plain", "") if isinstance(text, dict) else text)


class Settings(dict):
    """Settings by the names of their classes, as IPython's configuration has them."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.setdefault(name, Settings())

    __setattr__ = dict.__setitem__


class ZMQInteractiveShell:
    """Called as IPython's own class, by which libraries see that they are in a notebook."""

    __module__ = "ipykernel.zmqshell"

    def __init__(self, namespace, module):
        self.user_ns = namespace
        self.user_module = module
        self.user_global_ns = namespace
        self.display_formatter = DisplayFormatter()
        self.display_pub = DisplayPublisher()
        self.events = Events()
        # Where IPython's own magics show long texts.
        self.hooks = types.SimpleNamespace(show_in_pager=print_page)
        self.config = Settings(IPKernelApp=Settings())
        self.registered = {"line": {}, "cell": {}}
        self.configurables = []
        # Whether the newest cell, or code that `run_cell` ran, ended well, and its result where one was made.
        self.last_execution_succeeded = True
        self.last_execution_result = None
        # Errors that a handler of the program's shows, and the handler.
        self.custom_exceptions = ()
        self.CustomTB = None
        # Whether an error starts the debugger.
        self.call_pdb = False
        self._magics = None
        self.reloads = None
        self.colors = "nocolor"
        self.automagic = True
        self.autoawait = True
        # Whether the kernel is to end after the cell.
        self.exit_now = False
        self.xmode = "Context"
        self.ast_transformers = []
        self.input_transformers_post = []
        self.input_transformers_cleanup = []
        self.meta = {}
        self.banner1 = ""

    def __getattr__(self, name):
        """An attribute that only IPython's own shell has."""
        if not name.startswith("_"):
            full = load("ipython_shell").installed_shell(self)
            if full is not None and hasattr(full, name):
                return getattr(full, name)
        raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))

    # Attributes that libraries use.

    @property
    def kernel(self):
        """The kernel, as far as libraries look at it."""
        return load("kernel").kernel

    def get_parent(self):
        """The request that runs."""
        return self.kernel.get_parent()

    def set_parent(self, parent):
        """Makes later output of this thread that of another request."""
        self.kernel.set_parent(parent)

    # Which statements of a cell show their values: `all`, `last`, `last_expr`, `last_expr_or_assign`, `none`.
    ast_node_interactivity = "last_expr"

    def interactivity(self):
        """The option of this shell, or of all shells by way of IPython's own class."""
        chosen = self.__dict__.get("ast_node_interactivity")
        module = sys.modules.get("IPython.core.interactiveshell")
        if chosen is None and module is not None:
            chosen = vars(module.InteractiveShell).get("ast_node_interactivity")
        return chosen if chosen in INTERACTIVITIES else "last_expr"

    @classmethod
    def instance(cls, *_arguments, **_keys):
        """The shell."""
        return state.runner.shell

    @classmethod
    def initialized(cls):
        """Whether there is a shell."""
        return True

    @property
    def execution_count(self):
        """The number of the cell that runs."""
        return state.runner.count

    @property
    def displayhook(self):
        """The hook that shows the value of the last expression."""
        return sys.displayhook

    def get_ipython(self):
        """Itself."""
        return self

    def push(self, variables, interactive=True):
        """Sets variables."""
        if isinstance(variables, str):
            variables = variables.split()
        if isinstance(variables, dict):
            self.user_ns.update(variables)

    def ev(self, expression):
        """The value of an expression."""
        return eval(expression, self.user_ns)

    def ex(self, code):
        """Runs statements."""
        exec(code, self.user_ns)

    def run_cell(
        self, raw_cell, store_history=False, silent=False, shell_futures=True, cell_id=None, **_keys
    ):
        """Runs a cell inside the running one; an error is shown, and is in the result."""
        return load("execution").run_nested(self, raw_cell, store_history, silent, shell_futures, cell_id)

    def enable_gui(self, _gui=None):
        """No toolkit's event loop is run."""

    def enable_matplotlib(self, _gui=None):
        """Figures are shown in any case."""
        return None, "inline"

    def set_next_input(self, text, replace=False):
        """There is no next cell to fill."""

    def extract_input_lines(self, range_str, raw=False):
        """The sources of earlier cells."""
        return load("history").input_lines(range_str, raw)

    def find_user_code(self, target, raw=True, py_only=False, skip_encoding_cookie=True, search_ns=False):
        """Code of earlier cells, of a file, an address or a variable."""
        return load("history").find_code(self, target, raw, search_ns)

    def define_macro(self, name, themacro):
        """Gives a name to code, by which it runs."""
        macro = load("history").Macro
        self.user_ns[name] = themacro if isinstance(themacro, macro) else macro(themacro)

    def ask_yes_no(self, prompt, default=None, interrupt=None):
        """Nobody can answer."""
        no_input(prompt)

    def set_custom_exc(self, exc_tuple, handler):
        """Gives errors of some kinds to a handler, which shows them."""
        load("reporting").set_handler(self, exc_tuple, handler)

    def showtraceback(self, exc_tuple=None, filename=None, tb_offset=None, exception_only=False, **_keys):
        """Shows an error without ending the cell: the given one, the one being handled, or the newest."""
        load("reporting").show_newest(self, exc_tuple)

    def showsyntaxerror(self, *_arguments, **_keys):
        """Shows an error without ending the cell."""
        self.showtraceback()

    def show_usage_error(self, error):
        """Shows the wrong use of a magic."""
        print("UsageError: %s" % error, file=sys.stderr)

    def transform_cell(self, source):
        """A cell as Python."""
        return load("syntax").python_source(source)

    def find_magic(self, name, magic_kind="line"):
        """The function of a magic."""
        function = self.registered[magic_kind].get(name)
        if function is None:
            function = getattr(self.magics, "%s_%s" % (magic_kind, name), None)
        # Aliases are there as soon as our own magics are.
        return function or self.registered[magic_kind].get(name)

    def find_line_magic(self, name):
        """The function of a line magic."""
        return self.find_magic(name)

    def find_cell_magic(self, name):
        """The function of a cell magic."""
        return self.find_magic(name, "cell")

    def register_magic_function(self, func, magic_kind="line", magic_name=None):
        """Adds a magic."""
        name = magic_name or func.__name__
        for kind in ("line", "cell"):
            if magic_kind in (kind, "line_cell"):
                self.registered[kind][name] = func

    def register_magics(self, *magic_objects):
        """Adds the magics of classes that `magics_class` marked, or of objects of them."""
        for item in magic_objects:
            made = item(shell=self) if isinstance(item, type) else item
            for kind in ("line", "cell"):
                for name, function in made.magics[kind].items():
                    self.registered[kind][name] = (
                        getattr(made, function) if isinstance(function, str) else function
                    )

    def magic(self, line):
        """The old way to run a magic."""
        name, _, rest = line.lstrip("%").partition(" ")
        return self.run_line_magic(name, rest)

    # Running magics and commands.

    @property
    def magics(self):
        """Our own magics."""
        if self._magics is None:
            self._magics = load("magics").Magics(self)
        return self._magics

    def run_line_magic(self, name, line="", _stack_depth=1):
        """Runs `%name line`."""
        function = self.find_magic(name)
        if function is None:
            return load("ipython_shell").run_magic(self, "line", name, line, None)
        return function(*self._magic_words(function, name, line), **self._magic_scope(function, _stack_depth))

    def run_cell_magic(self, name, line, cell):
        """Runs `%%name line` with the rest of the cell."""
        function = self.find_magic(name, "cell")
        if function is None:
            return load("ipython_shell").run_magic(self, "cell", name, line, cell)
        return function(*self._magic_words(function, name, line), cell, **self._magic_scope(function, 0))

    def _magic_words(self, function, name, line):
        """The line of a magic, with the values of variables unless the magic takes it as it is."""
        as_it_is = name in UNEXPANDED or getattr(function, "_ipython_magic_no_var_expand", False)
        return (line if as_it_is else self.var_expand(line),)

    def _magic_scope(self, function, depth):
        """The local variables of the caller, for a magic that wants them."""
        if not getattr(function, "needs_local_scope", False):
            return {}
        return {"local_ns": sys._getframe(depth + 1).f_locals if depth else self.user_ns}

    def var_expand(self, text, depth=0):
        """Puts values of variables in place of `$name` and `{expression}`."""
        if "$" not in text and "{" not in text:
            return text
        frame = sys._getframe()
        while frame is not None and is_ours(frame.f_code.co_filename):
            frame = frame.f_back
        local = frame.f_locals if frame is not None else {}

        def value(expression):
            made = eval(expression, self.user_ns, dict(local))
            return made if isinstance(made, str) else str(made)

        def replace(found):
            whole, braced, name = found.group(0), found.group(1), found.group(2)
            if whole in ("{{", "}}"):
                return whole[0]
            if whole.startswith("$$"):
                return whole[1:]
            if name is not None and text.count("'", found.end()) % 2:
                return whole
            try:
                return value(braced if braced is not None else name)
            except Exception:
                return whole

        return re.sub(r"\{\{|\}\}|\{([^{}]+)\}|\$\$\w+|\$([A-Za-z_][\w.]*)", replace, text)

    def system(self, command):
        """Runs a command of the system's shell; its output is shown."""
        command = self.var_expand(command)
        if command.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        code = load("commands").run_on_terminal(command)
        # A shell says 128 and its number of a signal that ended a command.
        self.user_ns["_exit_code"] = 128 - code if code > 128 else code

    def getoutput(self, command, split=True, depth=0):
        """Runs a command and returns the lines that it printed."""
        code, text = load("commands").output_of(self.var_expand(command))
        self.user_ns["_exit_code"] = code
        return load("commands").OutputList(text.splitlines()) if split else text


def get_ipython():
    """The shell."""
    return state.runner.shell
