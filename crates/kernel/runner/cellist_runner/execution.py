"""Code that `get_ipython().run_cell` runs inside a cell, and the result of an execution."""

import os

from .base import load, state


class ExecutionInfo:
    """The code of an execution and how it was asked for."""

    __module__ = "IPython.core.interactiveshell"

    def __init__(
        self,
        raw_cell,
        store_history=False,
        silent=False,
        shell_futures=True,
        cell_id=None,
        transformed_cell=None,
        cell_meta=None,
    ):
        self.raw_cell = raw_cell
        self.transformed_cell = transformed_cell
        self.store_history = store_history
        self.silent = silent
        self.shell_futures = shell_futures
        self.cell_id = cell_id
        self.cell_meta = cell_meta

    def __repr__(self):
        source = self.raw_cell if len(self.raw_cell) <= 50 else self.raw_cell[:50] + ".."
        return '<%s object at %x, raw_cell="%s" store_history=%s silent=%s shell_futures=%s cell_id=%s>' % (
            type(self).__name__,
            id(self),
            source,
            self.store_history,
            self.silent,
            self.shell_futures,
            self.cell_id,
        )


class ExecutionResult:
    """How an execution ended: its value, or the error before or while it ran."""

    __module__ = "IPython.core.interactiveshell"

    def __init__(self, info, execution_count=None):
        self.info = info
        self.execution_count = execution_count
        self.error_before_exec = None
        self.error_in_exec = None
        self.result = None

    @property
    def success(self):
        """Whether there was no error."""
        return self.error_before_exec is None and self.error_in_exec is None

    def raise_error(self):
        """Raises the error, if there was one."""
        for error in (self.error_before_exec, self.error_in_exec):
            if error is not None:
                raise error

    def __repr__(self):
        return (
            "<%s object at %x, execution_count=%s error_before_exec=%s error_in_exec=%s info=%r result=%r>"
            % (
                type(self).__name__,
                id(self),
                self.execution_count,
                self.error_before_exec,
                self.error_in_exec,
                self.info,
                self.result,
            )
        )


def run_nested(shell, raw_cell, store_history, silent, shell_futures, cell_id):
    """Runs a cell inside the running one; returns its result."""
    runner = state.runner
    info = ExecutionInfo(raw_cell, store_history, silent, shell_futures, cell_id)
    result = shell.last_execution_result = ExecutionResult(info, runner.count)
    if raw_cell and not raw_cell.isspace():
        if store_history and not silent:
            runner.count += 1
            result.execution_count = runner.count
            runner.namespace.remember(raw_cell, runner.count)
        _begin(shell, info)
        try:
            _run(runner, raw_cell, result)
        finally:
            runner.end_of_cell(result)
    shell.last_execution_succeeded = result.success
    shell.last_execution_result = result
    return result


def _begin(shell, info):
    shell.user_ns.pop("__warningregistry__", None)
    shell.events.trigger("pre_execute")
    if not info.silent:
        shell.events.trigger("pre_run_cell", info)


def _run(runner, source, result):
    shell, silent = runner.shell, result.info.silent
    try:
        filename = runner.compiler.nested_name(runner.count)
        parts = runner.compiler.compile(source, filename, "none" if silent else shell.interactivity())
    except Exception as error:
        result.error_before_exec = error
        load("reporting").show_failure(shell, error)
        return
    try:
        result.result = runner.run_parts(parts)
        if result.result is not None:
            shell.displayhook(result.result)
    except BaseException as error:
        if os.getpid() != runner.pid:
            # The code forked, and this is the child: it ends with the cell.
            raise
        result.error_in_exec = error
        load("reporting").show_failure(shell, error)


def result_of(cell):
    """The result of a whole cell, for functions that libraries registered."""
    result = ExecutionResult(ExecutionInfo(cell.source, store_history=not cell.hidden), cell.number)
    if isinstance(cell.error, SyntaxError) and not cell.ran:
        result.error_before_exec = cell.error
    else:
        result.error_in_exec = cell.error
    return result
