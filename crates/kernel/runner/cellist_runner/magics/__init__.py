"""The magics that need no IPython: `line_NAME` is `%NAME`, `cell_NAME` is `%%NAME`."""

from .aliases import AliasMagics
from .configuration import ConfigurationMagics
from .display import DisplayMagics
from .errors import ErrorMagics
from .history import HistoryMagics
from .profiling import ProfilingMagics
from .running import RunningMagics
from .session import SessionMagics
from .settings import SettingsMagics
from .system import SystemMagics
from .timing import TimingMagics


class Magics(
    SystemMagics,
    AliasMagics,
    RunningMagics,
    ProfilingMagics,
    TimingMagics,
    SessionMagics,
    HistoryMagics,
    ErrorMagics,
    SettingsMagics,
    ConfigurationMagics,
    DisplayMagics,
):
    """All of them, for one shell."""

    def __init__(self, shell):
        self.shell = shell
        self.add_default_aliases()
        # Extensions that were loaded, by their names.
        self.extensions = {}
        # Modules of programs that `%run` ran.
        self.programs = []

    def names(self, kind):
        """The names of all line or cell magics."""
        start = kind + "_"
        names = {name[len(start) :] for name in dir(self) if name.startswith(start)}
        return sorted(names | set(self.shell.registered[kind]))
