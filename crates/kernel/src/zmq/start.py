# Runs once in a Python kernel, hidden, before any code of the user: everything that is set up, and what failed.
def _cellist_start(given):
    import json
    import sys

    given = json.loads(given)
    failed = []
    kernel_waits = False

    if sys.path[:1] != [given["cwd"]]:
        sys.path.insert(0, given["cwd"])

    # ipykernel's publisher throws messages away when its reader is slow, unless it is told to wait.
    try:
        import zmq

        publisher = get_ipython().kernel.iopub_thread
        publisher.schedule(lambda: publisher.socket.setsockopt(zmq.XPUB_NODROP, 1))
        kernel_waits = True
    except Exception:
        pass

    # Its two streams are sent apart from each other, so that what was printed in turns would come in two heaps.
    # Whichever is written to sends first what the other one holds; a cell that switches without end is spared.
    def keep_in_order(shell, stream, other):
        write = stream.write
        cell, left = None, 0

        def write_after_other(text):
            nonlocal cell, left
            if other._flush_pending:
                if cell != shell.execution_count:
                    cell, left = shell.execution_count, 5000
                if left > 0:
                    left -= 1
                    other.flush()
            return write(text)

        if hasattr(other, "_flush_pending"):
            stream.write = write_after_other

    def run(name, path, source):
        try:
            if source is None:
                import tokenize

                with tokenize.open(path) as file:
                    source = file.read()
            exec(compile(source, path, "exec"), globals())
        except BaseException as error:
            line = getattr(error, "lineno", None)
            step = error.__traceback__
            while step is not None:
                if step.tb_frame.f_code.co_filename == path:
                    line = step.tb_lineno
                step = step.tb_next
            failed.append({"name": name, "error": type(error).__name__, "message": str(error), "line": line})

    if given["prelude"] is not None:
        run(None, "<prelude>", given["prelude"])
    for module in given["modules"]:
        run(module["name"], module["path"], None)

    # Called when this code has ended: while code runs, IPython has its own writers in the streams' place.
    def finish():
        try:
            stdout, stderr = sys.stdout, sys.stderr
            keep_in_order(get_ipython(), stdout, stderr)
            keep_in_order(get_ipython(), stderr, stdout)
        except Exception:
            pass
        return json.dumps({"failed": failed, "kernel_waits": kernel_waits}).encode().hex()

    return finish
