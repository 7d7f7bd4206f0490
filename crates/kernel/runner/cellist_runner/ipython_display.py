"""Stands in for IPython.display where that is not installed."""

from . import ipython_media as media
from . import ipython_objects as objects
from .base import load
from .display import DISPLAY_FUNCTIONS, display, publish_display_data

CORE = (
    objects.DisplayObject,
    objects.TextDisplayObject,
    objects.Pretty,
    objects.HTML,
    objects.Markdown,
    objects.Latex,
    objects.Math,
    objects.SVG,
    objects.JSON,
    objects.GeoJSON,
    objects.Javascript,
    objects.Image,
    media.Video,
    media.ProgressBar,
)
LIBRARY = (
    media.Audio,
    media.Code,
    media.IFrame,
    media.YouTubeVideo,
    media.VimeoVideo,
    media.FileLink,
    media.FileLinks,
)
# `display_html` and the like.
REPRESENTATIONS = {
    "pretty": "text/plain",
    "html": "text/html",
    "markdown": "text/markdown",
    "svg": "image/svg+xml",
    "png": "image/png",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "latex": "text/latex",
    "json": "application/json",
    "javascript": "application/javascript",
    "pdf": "application/pdf",
}

for kind in CORE:
    kind.__module__ = "IPython.core.display"
for kind in LIBRARY:
    kind.__module__ = "IPython.lib.display"
objects.GeoJSON.__module__ = "IPython.display"


def fill(module):
    """Everything in IPython.display that programs use."""
    contents = {item.__name__: item for item in CORE + LIBRARY + DISPLAY_FUNCTIONS}
    for name, mime in REPRESENTATIONS.items():
        contents["display_" + name] = display_as(mime)
    contents["set_matplotlib_formats"] = lambda *formats, **_keys: load("figures").figures.choose(formats)
    contents["set_matplotlib_close"] = lambda *_arguments: None
    for name, item in contents.items():
        setattr(module, name, item)
    module.__all__ = list(contents)


def display_as(mime):
    """A function that displays values in one representation."""

    def show(*values, raw=False, metadata=None, **_keys):
        for value in values:
            if raw:
                publish_display_data({mime: value}, {mime: metadata} if metadata else None)
            else:
                display(value, include=[mime], metadata=metadata)

    return show
