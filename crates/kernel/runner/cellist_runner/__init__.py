"""The runner: runs a user's code inside their own Python, on behalf of cellist.

Nothing but the standard library, Python 3.8 or newer. The protocol is described in docs/runner-protocol.md. In short:
requests come in and frames go out on two descriptors of their own, one JSON object a line; the program's output
goes straight to descriptors 1 and 2, with numbered marks between, by which the host puts the streams and the frames
back in order.

Start-up time is felt by everyone: parts that a plain cell does not need are loaded when they are used (`base.load`),
and so are modules of the standard library (`base.library`).
"""

from .runner import main

__all__ = ["main"]
