"""Comms: lines between objects of the program, widgets mostly, and their counterparts in a front end."""

from .base import library, state
from .jsontext import base64_text

_manager = None


def manager():
    """The one registry of comms, made when it is first asked for."""
    global _manager
    if _manager is None:
        _manager = library("importlib").import_module("comm.base_comm").CommManager()
    return _manager


def logger():
    """Where errors of callbacks go."""
    return library("logging").getLogger("Comm")


def publish(kind, content, metadata=None, buffers=None):
    """Sends a message of a comm to the host."""
    parts = [base64_text(memoryview(part).cast("B")) for part in buffers or ()]
    state.runner.outlet.send("comm", kind=kind, content=content, metadata=metadata or {}, buffers=parts)


def publish_msg(comm, msg_type, data=None, metadata=None, buffers=None, **keys):
    """The way of a comm to send a message: takes the place of the package's own."""
    publish(msg_type, dict(keys, comm_id=comm.comm_id, data={} if data is None else data), metadata, buffers)


def take_over(module):
    """Makes the package `comm` open its comms here."""

    class Comm(module.BaseComm):
        """A line to a counterpart in a front end."""

        publish_msg = publish_msg
        kernel = property(lambda self: state.runner.shell.kernel)

    module.create_comm = Comm
    module.get_comm_manager = manager


def deliver(request):
    """Hands a message of a front end to its comm, or to the target that it opens."""
    kind = request["kind"]
    if kind not in ("comm_open", "comm_msg", "comm_close"):
        return
    decode = library("binascii").a2b_base64
    message = {
        "header": {"msg_type": kind, "msg_id": "execution-%d" % request["execution"]},
        "msg_type": kind,
        "msg_id": "execution-%d" % request["execution"],
        "parent_header": {},
        "metadata": request.get("metadata") or {},
        "content": request["content"],
        "buffers": [memoryview(decode(part)) for part in request.get("buffers") or ()],
    }
    getattr(manager(), kind)(None, [], message)


def answer(request):
    """The comms that are open, all or those of one target."""
    wanted = request.get("target_name")
    known = list(manager().comms.items()) if _manager is not None else []
    return {
        "comms": {
            comm_id: {"target_name": comm.target_name}
            for comm_id, comm in known
            if wanted is None or comm.target_name == wanted
        }
    }
