"""Displays: showing values, changing them later, taking them away."""

import os

from .base import state
from .jsontext import base64_text


class DisplayPublisher:
    """Where displays go; `%%capture` and libraries put their own in its place."""

    def publish(self, data, metadata=None, source=None, transient=None, update=False, **_others):
        """Sends one display, or the new look of one."""
        outlet = state.runner.outlet
        display_id = (transient or {}).get("display_id")
        data = {
            mime: base64_text(content) if isinstance(content, (bytes, bytearray)) else content
            for mime, content in data.items()
        }
        if outlet.forked:
            text = data.get("text/plain")
            if text is not None:
                print(text)
            return
        outlet.send(
            "update_display" if update else "display",
            data=data,
            metadata=metadata or {},
            display_id=display_id,
        )

    def clear_output(self, wait=False):
        """Clears the cell's outputs."""
        state.runner.outlet.send("clear_output", wait=bool(wait))


class DisplayHandle:
    """Something displayed, which can be changed later."""

    __module__ = "IPython.core.display_functions"

    def __init__(self, display_id=None):
        self.display_id = display_id or os.urandom(16).hex()

    def __repr__(self):
        return "<DisplayHandle display_id=%s>" % self.display_id

    def display(self, value, **keys):
        """Displays a value under this name."""
        display(value, display_id=self.display_id, **keys)

    def update(self, value, **keys):
        """Shows another value in its place."""
        update_display(value, display_id=self.display_id, **keys)


def publish_display_data(data, metadata=None, source=None, transient=None, **keys):
    """Displays representations that are already made."""
    keys.pop("clear", None)
    state.runner.shell.display_pub.publish(data=data, metadata=metadata, transient=transient, **keys)


def display(
    *values,
    include=None,
    exclude=None,
    metadata=None,
    transient=None,
    display_id=None,
    raw=False,
    clear=False,
    **keys,
):
    """Displays values; with a display id, returns a handle by which they can be changed."""
    if not values and display_id is None:
        return None
    transient = dict(transient or {})
    if display_id is not None:
        if display_id is True:
            display_id = os.urandom(16).hex()
        transient["display_id"] = display_id
    if keys.get("update") and "display_id" not in transient:
        raise TypeError("display_id required for update_display")
    if transient:
        keys["transient"] = transient
    if not values and display_id is not None:
        return DisplayHandle(display_id)
    if clear:
        clear_output(wait=True)
    for value in values:
        if raw:
            publish_display_data(value, metadata, **keys)
            continue
        data, made_metadata = state.runner.shell.display_formatter.format(value, include, exclude)
        if not data:
            continue
        made_metadata.update(metadata or {})
        publish_display_data(data, made_metadata, **keys)
    return DisplayHandle(display_id) if display_id is not None else None


def update_display(value, *, display_id, **keys):
    """Shows a value in place of the one displayed under that name."""
    keys["update"] = True
    display(value, display_id=display_id, **keys)


def clear_output(wait=False):
    """Clears the cell's outputs, at once or when the next output comes."""
    state.runner.shell.display_pub.clear_output(wait)


DISPLAY_FUNCTIONS = (display, update_display, publish_display_data, clear_output, DisplayHandle)
