"""Stands in for the package `comm` where that is not installed."""

import os

from .base import library, load, state


class BaseComm:
    """A line between an object of the program and its counterpart in a front end."""

    __module__ = "comm.base_comm"

    def __init__(
        self,
        target_name="comm",
        data=None,
        metadata=None,
        buffers=None,
        comm_id=None,
        primary=True,
        target_module=None,
        topic=None,
        _open_data=None,
        _close_data=None,
        **_keys,
    ):
        self.comm_id = comm_id or os.urandom(16).hex()
        self.primary = primary
        self.target_name, self.target_module = target_name, target_module
        self.topic = topic or ("comm-" + self.comm_id).encode("ascii")
        self._open_data, self._close_data = _open_data or {}, _close_data or {}
        self._msg_callback = self._close_callback = None
        self._closed = primary
        if primary:
            self.open(data, metadata, buffers)

    def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
        """Sends a message; comms of other kinds do it in their own way."""
        raise NotImplementedError("publish_msg Comm method is not implemented")

    def __del__(self):
        try:
            self.close(deleting=True)
        except Exception:
            # The interpreter may be ending.
            pass

    def open(self, data=None, metadata=None, buffers=None):
        """Opens the counterpart in the front end."""
        registry = load("comms").manager()
        registry.register_comm(self)
        try:
            names = {"target_name": self.target_name, "target_module": self.target_module}
            self.publish_msg(
                "comm_open", self._open_data if data is None else data, metadata, buffers, **names
            )
            self._closed = False
        except Exception:
            registry.unregister_comm(self)
            raise

    def close(self, data=None, metadata=None, buffers=None, deleting=False):
        """Closes the counterpart, once."""
        if self._closed:
            return
        self._closed = True
        self.publish_msg("comm_close", self._close_data if data is None else data, metadata, buffers)
        if not deleting:
            load("comms").manager().unregister_comm(self)

    def send(self, data=None, metadata=None, buffers=None):
        """Sends a message to the counterpart."""
        self.publish_msg("comm_msg", data, metadata, buffers)

    def on_msg(self, callback):
        """Registers the function for messages."""
        self._msg_callback = callback

    def on_close(self, callback):
        """Registers the function for the end."""
        self._close_callback = callback

    def handle_msg(self, msg):
        """A message came."""
        if self._msg_callback is not None:
            events = state.runner.shell.events
            events.trigger("pre_execute")
            self._msg_callback(msg)
            events.trigger("post_execute")

    def handle_close(self, msg):
        """The counterpart was closed."""
        if self._close_callback is not None:
            self._close_callback(msg)


class CommManager:
    """The registry of comms and of their targets."""

    __module__ = "comm.base_comm"

    def __init__(self):
        self.comms, self.targets = {}, {}

    def register_target(self, target_name, f):
        """Registers a function, or its dotted name, for comms that a front end opens."""
        if isinstance(f, str):
            package, _, name = f.rpartition(".")
            module = library("importlib").import_module(package or name)
            f = getattr(module, name) if package else module
        self.targets[target_name] = f

    def unregister_target(self, target_name, f=None):
        """Forgets a target."""
        return self.targets.pop(target_name)

    def register_comm(self, comm):
        """Registers a comm."""
        self.comms[comm.comm_id] = comm
        return comm.comm_id

    def unregister_comm(self, comm):
        """Forgets a comm."""
        self.comms.pop(comm.comm_id)

    def get_comm(self, comm_id):
        """A comm, or none."""
        comm = self.comms.get(comm_id)
        if comm is None:
            load("comms").logger().warning("No such comm: %s", comm_id)
        return comm

    def comm_open(self, stream, ident, msg):
        """A front end opens a comm."""
        content = msg["content"]
        target = content["target_name"]
        comm = (
            library("importlib")
            .import_module("comm")
            .create_comm(comm_id=content["comm_id"], primary=False, target_name=target)
        )
        self.register_comm(comm)
        function = self.targets.get(target)
        if function is None:
            load("comms").logger().error("No such comm target registered: %s", target)
        else:
            try:
                function(comm, msg)
                return
            except Exception:
                load("comms").logger().error("Exception opening comm with target: %s", target, exc_info=True)
        comm.close()

    def comm_msg(self, stream, ident, msg):
        """A front end sends a message."""
        comm = self.get_comm(msg["content"]["comm_id"])
        if comm is not None:
            self._call(comm.handle_msg, msg)

    def comm_close(self, stream, ident, msg):
        """A front end closes a comm."""
        comm = self.get_comm(msg["content"]["comm_id"])
        if comm is not None:
            comm._closed = True
            del self.comms[comm.comm_id]
            self._call(comm.handle_close, msg)

    def _call(self, function, msg):
        try:
            function(msg)
        except Exception:
            kind, name = msg["msg_type"], msg["content"]["comm_id"]
            load("comms").logger().error("Exception in %s for %s", kind, name, exc_info=True)


def fill(module):
    """Fills `comm` and `comm.base_comm`."""
    module.BaseComm, module.CommManager = BaseComm, CommManager
    if module.__name__ == "comm":
        module.__version__ = "0.2.3"
        load("comms").take_over(module)
