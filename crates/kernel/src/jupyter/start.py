# Runs once in a Python kernel, hidden, before any code of the user: the setup and its failures. It
# has names of its own, so that the user may give any meaning to theirs, be it `open`.
def start(given, namespace):
    import io
    import json
    import os
    import sys

    given = json.loads(given)
    exit_at_once = os._exit
    failed = []
    kernel_waits = False
    stays = None

    # Our own processes get these at their start; a gateway's kernel gets them here.
    if given["variables"] is not None:
        os.environ.update(given["variables"])
        try:
            os.chdir(given["cwd"])
        except OSError as error:
            stays = (os.getcwd(), "%s: %s" % (error.strerror, given["cwd"]))
            given["cwd"] = os.getcwd()

        # Code that we run stays out of the user's own history. Our own processes are started with one in memory.
        try:
            namespace["get_ipython"]().history_manager.enabled = False
        except Exception:
            pass

    if sys.path[:1] != [given["cwd"]]:
        sys.path.insert(0, given["cwd"])

    # ipykernel's publisher throws messages away when its reader is slow, unless it is told to wait.
    try:
        import zmq

        publisher = namespace["get_ipython"]().kernel.iopub_thread
        publisher.schedule(lambda: publisher.socket.setsockopt(zmq.XPUB_NODROP, 1))
        kernel_waits = True
    except Exception:
        pass

    # `exit` ends ipykernel a moment after its cell. A request in that moment is not run any more.
    try:
        shell = namespace["get_ipython"]()

        def leave(change):
            if change["new"]:
                shell.kernel.shell_handlers["execute_request"] = lambda *_: os._exit(0)

        shell.observe(leave, "exit_now")
    except Exception:
        pass

    def run(name, path, source):
        try:
            if source is None:
                import tokenize

                with tokenize.open(path) as file:
                    source = file.read()
            exec(compile(source, path, "exec"), namespace)
        except BaseException as error:
            line = getattr(error, "lineno", None)
            step = error.__traceback__
            while step is not None:
                if step.tb_frame.f_code.co_filename == path:
                    line = step.tb_lineno
                step = step.tb_next
            failed.append(
                {
                    "name": name,
                    "path": path,
                    "error": type(error).__name__,
                    "message": str(error),
                    "line": line,
                }
            )

    if given["prelude"] is not None:
        run(None, "<prelude>", given["prelude"])
    for module in given["modules"]:
        run(module["name"], module["path"], module["source"])

    # ipykernel sends its two streams apart from each other, reads output of C code and children at some time
    # later, and empties both streams before every display by way of another thread. Here whichever stream is
    # written to first sends the other one's buffer, other output is read before anything else is sent,
    # and with nothing to send the way to the other thread is spared.
    def order(shell, stdout, stderr):
        import atexit
        import codecs
        import fcntl
        import select
        import threading

        # A cell that switches between the streams without end is spared after so many times.
        most_switches = 5000
        # Code that interrupts this one, such as a signal handler, may print, too.
        lock = threading.RLock()
        reading = False
        put = {}
        sources = []
        forked = False

        # ipykernel lets a forked child send its text in messages of its own, which arrive at some time later, and
        # with them its parent's unsent output. On the descriptors it is there before the child has ended.
        def fork():
            nonlocal forked
            forked = True
            for _, _, stream in sources:
                lines = io.open(
                    stream._original_stdstream_fd,
                    "w",
                    buffering=1,
                    encoding="utf-8",
                    errors="backslashreplace",
                    newline="\n",
                    closefd=False,
                )
                stream.write, stream.flush = lines.write, lines.flush

        def divert(stream):
            number = stream._original_stdstream_fd
            before = os.dup(number)
            reader, writer = os.pipe()
            try:
                # Code that holds the interpreter lock while it writes must not wait for us.
                fcntl.fcntl(writer, getattr(fcntl, "F_SETPIPE_SZ", 1031), 1 << 20)
            except OSError:
                pass
            os.set_blocking(reader, False)
            os.dup2(writer, number)
            os.close(writer)
            # ipykernel waits for its own reader when it ends.
            atexit.register(lambda: forked or os.dup2(before, number))
            sources.append((reader, codecs.getincrementaldecoder("utf-8")("replace"), stream))

        def read(reader, decoder):
            try:
                data = os.read(reader, 1 << 16)
            except BlockingIOError:
                return None
            return decoder.decode(data) if data else None

        def read_others():
            nonlocal reading
            # A forked child has the same pipes, and no business with them.
            if forked:
                return
            with lock:
                reading = True
                while True:
                    # Standard output from before the text on standard error is there by now.
                    texts = [(stream, read(reader, decoder)) for reader, decoder, stream in reversed(sources)]
                    if all(text is None for _, text in texts):
                        break
                    for stream, text in reversed(texts):
                        if text:
                            put[stream](text)
                reading = False

        def read_others_always():
            poll = select.poll()
            for reader, _, _ in sources:
                poll.register(reader, select.POLLIN)
            while True:
                poll.poll()
                read_others()

        # Asked at every write, so it must be quick: 0.4 microseconds.
        def quick_look():
            if not hasattr(select, "epoll"):
                return lambda _: select.select([reader for reader, _, _ in sources], [], [], 0)[0]
            epoll = select.epoll()
            for reader, _, _ in sources:
                epoll.register(reader, select.EPOLLIN)
            return epoll.poll

        def tie(stream, other):
            write, flush, flush_other = stream.write, stream.flush, other.flush
            cell, left = None, 0

            def put_after_other(text):
                nonlocal cell, left
                if other._flush_pending:
                    if cell != shell.execution_count:
                        cell, left = shell.execution_count, most_switches
                    if left > 0:
                        left -= 1
                        flush_other()
                return write(text)

            def write_in_order(text):
                # The end of a line follows its text at once. Text that left the pipe is being read, or
                # was put: asked in this order, nothing slips through.
                if text != "\n" and (others_wrote(0) or reading):
                    read_others()
                if other._flush_pending:
                    return put_after_other(text)
                return write(text)

            def flush_in_order():
                if others_wrote(0) or reading:
                    read_others()
                # A forked child does not count pending output.
                if stream._flush_pending or forked:
                    flush()

            put[stream] = put_after_other
            return write_in_order, flush_in_order

        for stream in [stdout, stderr]:
            if stream._should_watch:
                divert(stream)
        others_wrote = quick_look()
        ties = [(stream, tie(stream, other)) for stream, other in [(stdout, stderr), (stderr, stdout)]]
        for stream, (write, flush) in ties:
            stream.write, stream.flush = write, flush
        os.register_at_fork(after_in_child=fork)
        threading.Thread(target=read_others_always, daemon=True).start()

    # At its end ipykernel waits for children, by way of a library that takes longer to load than all the rest of its
    # end; they end with the kernel's group. Python waits for threads without end, and looks twice through all that
    # there is for unused data.
    def leave_quickly(kernel):
        import gc
        import threading

        async def leave_children():
            pass

        gc.freeze()
        kernel._progressively_terminate_all_children = leave_children
        # Not there before Python 3.9.
        threading._register_atexit(leave_threads)

    def leave_threads():
        import atexit
        import threading
        import time

        # Threads of a pool end when they are told that there is nothing more to do.
        pools = sys.modules.get("concurrent.futures.thread")
        if pools is not None:
            pools._shutdown = True
            for tasks in list(pools._threads_queues.values()):
                tasks.put(None)
        deadline = time.monotonic() + 0.3
        mine = threading.current_thread()
        for thread in threading.enumerate():
            if thread is not mine and not thread.daemon:
                thread.join(max(0, deadline - time.monotonic()))
                if thread.is_alive():
                    atexit._run_exitfuncs()
                    exit_at_once(0)

    # A process that ends itself loses its unsent output, so it waits until all of that was heard. Output that
    # a signal from elsewhere ends has no such chance.
    def say_all_before_the_end(kernel, streams):
        import functools
        import signal
        import time

        own = os.getpid()
        heard_turn = 0
        harmless = {"SIGCHLD", "SIGCLD", "SIGCONT", "SIGURG", "SIGWINCH"}
        turn = 0

        def say_all():
            nonlocal turn
            turn += 1
            for stream in streams:
                stream.flush()
            kernel.session.send(kernel.iopub_socket, "cellist_leaving", {"turn": turn})
            deadline = time.monotonic() + 10
            while not was_heard() and time.monotonic() < deadline:
                time.sleep(0.001)

        def was_heard():
            if given["heard"] is not None:
                return os.path.exists("%s-%d" % (given["heard"], turn))
            return heard_turn >= turn

        # Control messages are read by a thread of their own, so this comes while the other one waits.
        async def hear(stream, identity, message):
            nonlocal heard_turn
            heard_turn = message["content"]["turn"]

        if given["heard"] is None:
            if getattr(kernel, "control_thread", None) is None:
                return
            kernel.control_handlers[given["heard_message"]] = hear

        def is_deadly(number):
            return (
                number != 0
                and signal.Signals(number).name not in harmless
                and signal.getsignal(number) == signal.SIG_DFL
            )

        def wrap(module, name, is_end):
            original = getattr(module, name)

            @functools.wraps(original)
            def say_all_and_do(*arguments, **named):
                try:
                    if os.getpid() == own and is_end(*arguments, **named):
                        say_all()
                except Exception:
                    pass
                return original(*arguments, **named)

            setattr(module, name, say_all_and_do)

        wrap(os, "_exit", lambda *_, **__: True)
        wrap(os, "abort", lambda: True)
        wrap(os, "kill", lambda process, number: process in (own, 0, -os.getpgrp()) and is_deadly(number))
        wrap(os, "killpg", lambda group, number: group in (0, os.getpgrp()) and is_deadly(number))
        wrap(signal, "raise_signal", is_deadly)

    # A connection through a gateway may break. Lost messages show as a gap in these numbers.
    def number_outputs(session):
        import itertools

        own = os.getpid()
        numbers = itertools.count(1)
        send = session.send
        kinds = {"stream", "display_data", "update_display_data", "execute_result", "error", "clear_output"}

        def send_numbered(stream, message, *arguments, **named):
            if os.getpid() == own:
                if isinstance(message, str):
                    if message in kinds and len(arguments) < 7:
                        metadata = dict(named.get("metadata") or {})
                        named["metadata"] = dict(metadata, cellist_number=next(numbers))
                elif message["msg_type"] in kinds:
                    message["metadata"] = dict(message["metadata"], cellist_number=next(numbers))
            return send(stream, message, *arguments, **named)

        session.send = send_numbered

    # Output of a thread belongs to the cell that started the thread, also when that cell has ended. ipykernel counts it to
    # the cell that runs, unless the thread is told otherwise.
    def follow_threads(kind, streams):
        start, inner = kind.start, kind._bootstrap_inner

        def _start(self):
            self._cellist_parents = [stream.parent_header for stream in streams]
            start(self)

        def _bootstrap_inner(self):
            for stream, parent in zip(streams, getattr(self, "_cellist_parents", ())):
                stream._parent_header.set(parent)
            inner(self)

        kind.start, kind._bootstrap_inner = _start, _bootstrap_inner

    # Called when this code has ended: while code runs, IPython has its own writers in the streams' place.
    def finish():
        try:
            stdout, stderr, shell = sys.stdout, sys.stderr, namespace["get_ipython"]()
            stdout._flush_pending, stderr._flush_pending, stdout._should_watch, stderr._should_watch
            if stdout._should_watch:
                stdout._original_stdstream_fd, stderr._original_stdstream_fd
        except Exception:
            pass
        else:
            order(shell, stdout, stderr)
        try:
            if given["heard"] is not None or given["heard_message"] is not None:
                say_all_before_the_end(namespace["get_ipython"]().kernel, [sys.stdout, sys.stderr])
        except Exception:
            pass
        try:
            if given["heard_message"] is not None:
                number_outputs(namespace["get_ipython"]().kernel.session)
        except Exception:
            pass
        try:
            leave_quickly(namespace["get_ipython"]().kernel)
        except Exception:
            pass
        # Last, so that threads of ours belong to no cell.
        try:
            import threading

            streams = [sys.stdout, sys.stderr]
            if all(hasattr(stream._parent_header, "set") for stream in streams):
                follow_threads(threading.Thread, streams)
        except Exception:
            pass
        return json.dumps({"failed": failed, "kernel_waits": kernel_waits, "stays": stays}).encode().hex()

    return finish
