"""The kernel behind `get_ipython().kernel`, as far as libraries look at it."""

import os
import types

from .base import OWNER, load, state

# The id of a request in the eyes of a program: the host knows its execution by it.
MESSAGE_ID = "execution-%d"


class Kernel:
    """Stands for the kernel of a notebook: the request that runs, comms, and a way to send messages."""

    __module__ = "ipykernel.ipkernel"

    implementation = "ipython"
    banner = ""

    def __init__(self):
        self.session = Session()
        # Given back to `send_response` and to `session.send`, which look no further.
        self.iopub_socket = self.iopub_thread = types.SimpleNamespace()
        self.msg_types = ["execute_request", "comm_open", "comm_msg", "comm_close", "comm_info_request"]

    @property
    def shell(self):
        """The shell."""
        return state.runner.shell

    @property
    def comm_manager(self):
        """The registry of comms and of their targets."""
        return load("comms").manager()

    @property
    def execution_count(self):
        """The number of the cell that runs."""
        return state.runner.count

    @property
    def log(self):
        """Where messages about the kernel go."""
        return load("comms").logger()

    def get_parent(self, channel=None):
        """The request that runs, or that started this thread or task."""
        execution = OWNER.get()
        if execution is None:
            execution = state.runner.outlet.current
        if execution is None:
            return {}
        header = {
            "msg_id": MESSAGE_ID % execution,
            "msg_type": "execute_request",
            "session": self.session.session,
            "username": self.session.username,
            "version": "5.4",
        }
        parent = {"header": header, "msg_id": header["msg_id"], "msg_type": header["msg_type"]}
        return dict(parent, parent_header={}, metadata={}, content={}, buffers=[])

    def set_parent(self, parent, *_arguments, **_keys):
        """Makes later output of this thread or task that of a request."""
        name = ((parent or {}).get("header") or {}).get("msg_id") or ""
        start, _, number = name.rpartition("-")
        if start == "execution" and number.isdigit():
            OWNER.set(int(number))

    @property
    def _parent_header(self):
        return self.get_parent()

    _parents = property(lambda self: {"shell": self.get_parent()})

    def send_response(self, _stream, msg_or_type, content=None, metadata=None, buffers=None, **_keys):
        """Sends a message to the front end."""
        self.session.send(_stream, msg_or_type, content, metadata=metadata, buffers=buffers)


class Session:
    """Sends messages that a program makes by itself."""

    __module__ = "jupyter_client.session"

    def __init__(self):
        self.session = os.urandom(16).hex()
        self.username = "username"

    def send(self, _stream, msg_or_type, content=None, metadata=None, buffers=None, **_keys):
        """Sends a message of a kind that cells have; others have no reader."""
        if isinstance(msg_or_type, dict):
            content, metadata = msg_or_type.get("content"), msg_or_type.get("metadata")
            buffers = msg_or_type.get("buffers")
            kind = msg_or_type.get("msg_type") or msg_or_type["header"]["msg_type"]
        else:
            kind = msg_or_type
        content, runner = content or {}, state.runner
        if kind == "stream":
            stream = runner.outlet.streams[content.get("name") == "stderr"]
            stream.write(content.get("text", ""))
        elif kind in ("display_data", "update_display_data", "execute_result"):
            publish = runner.shell.display_pub.publish
            update = kind == "update_display_data"
            publish(
                content.get("data", {}),
                content.get("metadata"),
                transient=content.get("transient"),
                update=update,
            )
        elif kind == "clear_output":
            runner.shell.display_pub.clear_output(content.get("wait", False))
        elif kind == "error":
            name, message = str(content.get("ename", "")), str(content.get("evalue", ""))
            lines = [str(line) for line in content.get("traceback", ())]
            runner.outlet.send("error", name=name, message=message, traceback=lines)
        elif kind in ("comm_open", "comm_msg", "comm_close"):
            load("comms").publish(kind, content, metadata, buffers)


kernel = Kernel()
