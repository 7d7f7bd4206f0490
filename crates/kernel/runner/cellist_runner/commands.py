"""Commands of the system that a cell runs."""

import os
import re
import sys

from .base import library, state


class OutputList(list):
    """The lines that a command printed."""

    @property
    def l(self):  # noqa: E743 - its name in IPython
        """As a list."""
        return list(self)

    @property
    def n(self):
        """As one text."""
        return "\n".join(self)

    nlstr = n
    list = l

    @property
    def s(self):
        """As one line."""
        return " ".join(self)

    spstr = s

    def grep(self, pattern, prune=False):
        """The lines in which a regular expression is found."""
        return OutputList(line for line in self if bool(re.search(pattern, line, re.I)) != prune)

    def fields(self, *numbers):
        """Some of the words of each line."""
        if not numbers:
            return [line.split() for line in self]
        rows = [line.split() for line in self]
        return OutputList(" ".join(row[at] for at in numbers if -len(row) <= at < len(row)) for row in rows)


def system_shell():
    """The user's own shell, where there is one."""
    shell = os.environ.get("SHELL") or ""
    return shell if os.path.isabs(shell) and os.access(shell, os.X_OK) else "/bin/sh"


def open_terminal():
    """A terminal of the usual size, or where there are none a pipe: the end to read, and the one to write."""
    try:
        ours, its = os.openpty()
    except OSError:
        return os.pipe()
    size = library("struct").pack("HHHH", 24, 80, 0, 0)
    library("fcntl").ioctl(its, library("termios").TIOCSWINSZ, size)
    return ours, its


class Command:
    """Starts a command; ends it when the user interrupts, and keeps our ways out of the traceback."""

    def __init__(self):
        self.process = None

    def __enter__(self):
        return self

    def start(self, *arguments, **keys):
        """Starts the command."""
        self.process = library("subprocess").Popen(*arguments, **keys)
        return self.process

    def __exit__(self, kind, _error, _traceback):
        if kind is not KeyboardInterrupt:
            return
        if self.process is not None:
            try:
                # It got the signal too.
                self.process.wait(1)
            except BaseException:
                self.process.kill()
                self.process.wait()
        raise KeyboardInterrupt from None


def output_of(command):
    """Runs a command of the system's shell; returns its exit code and its output."""
    subprocess = library("subprocess")
    with Command() as started:
        process = started.start(
            [system_shell(), "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        text = process.communicate()[0].decode("utf-8", "replace")
    return process.returncode, text


def run(command, text=None, kept=(False, False)):
    """Runs a command on our own output, or into `sys.stdout` where that was replaced.

    Returns its exit code and the output and errors to keep, rather than show.
    """
    subprocess = library("subprocess")
    streams = sys.stdout, sys.stderr
    redirected = any(stream is not own for stream, own in zip(streams, state.runner.outlet.streams))
    out, err = (subprocess.PIPE if redirected or keep else None for keep in kept)
    with Command() as started:
        process = started.start(
            command,
            stdin=subprocess.DEVNULL if text is None else subprocess.PIPE,
            stdout=out,
            stderr=err,
        )
        written = process.communicate(text)
    written = [(data or b"").decode("utf-8", "replace") for data in written]
    for data, stream, keep in zip(written, streams, kept):
        if data and not keep:
            stream.write(data)
    return process.returncode, written


def run_on_terminal(command):
    """Runs a command of the system's shell that sees a terminal as its output, as IPython does; returns its exit code."""
    subprocess, select = library("subprocess"), library("select")
    # No reader could turn the pages.
    variables = dict(os.environ, TERM="xterm-color", PAGER="cat", GIT_PAGER="cat")
    decoder = library("codecs").getincrementaldecoder("utf-8")("replace")
    ends = []
    try:
        with Command() as started:
            ends += open_terminal()
            ours, its = ends
            process = started.start(
                [system_shell(), "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=its,
                stderr=its,
                env=variables,
            )
            os.close(ends.pop())
            while True:
                # A background process may keep the terminal open.
                ended = process.poll() is not None
                if not select.select([ours], [], [], 0 if ended else 0.05)[0]:
                    if ended:
                        break
                    continue
                try:
                    data = os.read(ours, 65536)
                except OSError:
                    data = b""
                if not data:
                    break
                sys.stdout.write(decoder.decode(data))
            process.wait()
    finally:
        for end in ends:
            os.close(end)
    sys.stdout.write(decoder.decode(b"", True))
    return process.returncode
