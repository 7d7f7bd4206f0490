"""Stands in for the display objects of IPython.core.display: text, images, data."""

import os

from .base import library
from .display import publish_display_data
from .jsontext import base64_text, from_json


def read(path, mode="r"):
    with open(os.path.expanduser(path), mode, **({} if "b" in mode else {"encoding": "utf-8"})) as file:
        return file.read()


def fetch(url):
    with library("urllib.request").urlopen(url) as response:
        return response.read()


class DisplayObject:
    """Something with representations of its own."""

    _read_flags = "r"

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if data is not None and not isinstance(data, (str, bytes, dict, list)):
            data = str(data) if not hasattr(data, "__fspath__") else data
        if hasattr(data, "__fspath__"):
            data, filename = None, os.fspath(data)
        elif isinstance(data, str) and url is None and filename is None:
            if data.startswith(("http://", "https://")):
                data, url = None, data
            elif self._is_file(data):
                data, filename = None, data
        self.data, self.url, self.filename = data, url, filename
        self.metadata = metadata or {}
        self.reload()

    def _is_file(self, _text):
        return False

    def reload(self):
        """Reads the named file or address."""
        if self.filename is not None:
            self.data = read(self.filename, self._read_flags)
        elif self.url is not None and self.data is None:
            data = fetch(self.url)
            self.data = data if self._read_flags == "rb" else data.decode("utf-8", "replace")

    def _data_and_metadata(self):
        return (self.data, dict(self.metadata)) if self.metadata else self.data

    def __repr__(self):
        return "<%s.%s object>" % (self.__class__.__module__, self.__class__.__name__)


class TextDisplayObject(DisplayObject):
    """Something made of text."""


class Pretty(TextDisplayObject):
    def _repr_pretty_(self, printer, _cycle):
        printer.text(self.data)


class HTML(TextDisplayObject):
    def _repr_html_(self):
        return self._data_and_metadata()

    def __html__(self):
        return self.data


class Markdown(TextDisplayObject):
    def _repr_markdown_(self):
        return self._data_and_metadata()


class Latex(TextDisplayObject):
    def _repr_latex_(self):
        return self._data_and_metadata()


class Math(TextDisplayObject):
    def _repr_latex_(self):
        text = r"$\displaystyle %s$" % self.data.strip("$")
        return (text, dict(self.metadata)) if self.metadata else text


class SVG(DisplayObject):
    def _is_file(self, text):
        return not text.lstrip().startswith("<") and os.path.exists(text)

    def _repr_svg_(self):
        text = self.data.decode("utf-8") if isinstance(self.data, bytes) else self.data
        # As the standard library writes it, which is how IPython shows it.
        found = library("xml.dom.minidom").parseString(text).getElementsByTagName("svg")
        text = found[0].toxml() if found else text
        return (text, dict(self.metadata)) if self.metadata else text


class JSON(DisplayObject):
    def __init__(
        self, data=None, url=None, filename=None, expanded=False, metadata=None, root="root", **keys
    ):
        self.metadata = {"expanded": expanded, "root": root}
        self.metadata.update(metadata or {})
        self.metadata.update(keys)
        DisplayObject.__init__(self, data, url, filename, self.metadata)
        if isinstance(self.data, str):
            self.data = from_json(self.data.encode("utf-8", "surrogatepass"))

    def _is_file(self, text):
        return os.path.exists(text)

    def _repr_json_(self):
        return self._data_and_metadata()


class GeoJSON(JSON):
    def _ipython_display_(self):
        data = {"application/geo+json": self.data, "text/plain": repr(self)}
        publish_display_data(data, {"application/geo+json": self.metadata})


class Javascript(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        self.lib = [lib] if isinstance(lib, str) else lib or []
        self.css = [css] if isinstance(css, str) else css or []
        TextDisplayObject.__init__(self, data, url, filename)

    def _repr_javascript_(self):
        return self.data


class Image(DisplayObject):
    _read_flags = "rb"
    _FORMATS = {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}

    def __init__(
        self,
        data=None,
        url=None,
        filename=None,
        format=None,
        embed=None,
        width=None,
        height=None,
        retina=False,
        unconfined=False,
        metadata=None,
        alt=None,
    ):
        name = filename or url or (data if isinstance(data, str) else "") or ""
        if hasattr(data, "__fspath__"):
            name = os.fspath(data)
        end = os.path.splitext(str(name))[1][1:].lower().replace("jpg", "jpeg")
        self.embed = embed if embed is not None else url is None and not str(data).startswith("http")
        self.width, self.height, self.alt, self.unconfined = width, height, alt, unconfined
        if not self.embed and (url or isinstance(data, str)):
            self.data, self.url, self.filename, self.metadata = (
                None,
                url or data,
                filename,
                metadata or {},
            )
        else:
            DisplayObject.__init__(self, data, url, filename, metadata)
        found = None
        if isinstance(self.data, (bytes, bytearray)):
            heads = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))
            found = next((kind for head, kind in heads if self.data.startswith(head)), None)
        self.format = (format or found or end or "png").lower().replace("jpg", "jpeg")
        if self.embed and self.format not in self._FORMATS:
            raise ValueError("Cannot embed the '%s' image format" % self.format)
        if retina and self.format == "png" and self.data:
            self.width = int.from_bytes(self.data[16:20], "big") // 2
            self.height = int.from_bytes(self.data[20:24], "big") // 2

    def _is_file(self, text):
        return os.path.exists(text)

    def _repr_mimebundle_(self, include=None, exclude=None):
        if not self.embed:
            size = "".join(
                ' %s="%s"' % (name, getattr(self, name))
                for name in ("width", "height", "alt")
                if getattr(self, name) is not None
            )
            return {"text/html": '<img src="%s"%s/>' % (self.url, size)}
        mime = self._FORMATS[self.format]
        data = self.data if isinstance(self.data, str) else base64_text(self.data)
        metadata = dict(self.metadata)
        for name in ("width", "height", "alt"):
            if getattr(self, name) is not None:
                metadata[name] = getattr(self, name)
        return {mime: data}, ({mime: metadata} if metadata else {})
