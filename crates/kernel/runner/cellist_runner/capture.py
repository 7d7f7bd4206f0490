"""Output of a cell, kept instead of shown."""

import io
import sys

from .base import state
from .display import publish_display_data


class Captured:
    """Output of a cell, kept instead of shown."""

    def __init__(self, stdout=True, stderr=True, display=True):
        self._wanted = stdout, stderr, display
        self._stdout, self._stderr, self.outputs = io.StringIO(), io.StringIO(), []

    def __enter__(self):
        self._kept = sys.stdout, sys.stderr, state.runner.shell.display_pub, sys.displayhook
        stdout, stderr, displays = self._wanted
        sys.stdout = self._stdout if stdout else sys.stdout
        sys.stderr = self._stderr if stderr else sys.stderr
        if displays:
            state.runner.shell.display_pub = CapturingPublisher(self.outputs)
            sys.displayhook = self._hook
        return self

    def __exit__(self, *_error):
        sys.stdout, sys.stderr, state.runner.shell.display_pub, sys.displayhook = self._kept

    def _hook(self, value):
        if value is not None:
            data, metadata = state.runner.shell.display_formatter.format(value)
            self.outputs.append(RichOutput(data, metadata))

    @property
    def stdout(self):
        """The standard output."""
        return self._stdout.getvalue()

    @property
    def stderr(self):
        """The standard error."""
        return self._stderr.getvalue()

    def __str__(self):
        return self.stdout

    def show(self):
        """Shows it after all."""
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for output in self.outputs:
            output.display()

    __call__ = show


class RichOutput:
    """One display that was kept."""

    def __init__(self, data, metadata=None, transient=None, update=False):
        self.data, self.metadata, self.transient, self.update = data, metadata, transient, update

    def display(self):
        """Shows it."""
        publish_display_data(self.data, self.metadata, transient=self.transient, update=self.update)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data, self.metadata or {}


class CapturingPublisher:
    """Takes displays in place of the host."""

    def __init__(self, outputs):
        self.outputs = outputs

    def publish(self, data, metadata=None, source=None, transient=None, update=False, **_others):
        """Keeps one display."""
        self.outputs.append(RichOutput(data, metadata, transient, update))

    def clear_output(self, wait=False):
        """Drops the kept output."""
        self.outputs.clear()
