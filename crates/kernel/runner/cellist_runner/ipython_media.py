"""Stands in for the rest of IPython.display: sound, film, pages, links, progress."""

import io
import os

from .base import library
from .display import display, update_display
from .ipython_objects import DisplayObject, TextDisplayObject
from .jsontext import base64_text


class Video(DisplayObject):
    _read_flags = "rb"

    def __init__(
        self,
        data=None,
        url=None,
        filename=None,
        embed=False,
        mimetype=None,
        width=None,
        height=None,
        html_attributes="controls",
    ):
        self.embed, self.width, self.height, self.html_attributes = embed, width, height, html_attributes
        source = url or filename or data
        self.mimetype = mimetype or library("mimetypes").guess_type(str(source))[0] or "video/mp4"
        self.metadata = {}
        self.url = source if isinstance(source, str) and not embed else None
        self.filename = filename or (data if isinstance(data, str) else None) if embed else None
        self.data = data if isinstance(data, (bytes, bytearray)) else None
        if embed:
            self.reload()

    def _repr_html_(self):
        size = "".join(
            ' %s="%s"' % (name, getattr(self, name)) for name in ("width", "height") if getattr(self, name)
        )
        source = self.url
        if self.embed:
            source = "data:%s;base64,%s" % (self.mimetype, base64_text(self.data))
        return (
            '<video src="%s" %s %s>\n'
            "      Your browser does not support the <code>video</code> element.\n"
            "    </video>" % (source, self.html_attributes, size)
        )


class Audio(DisplayObject):
    _read_flags = "rb"

    def __init__(
        self,
        data=None,
        filename=None,
        url=None,
        embed=None,
        rate=None,
        autoplay=False,
        normalize=True,
        element_id=None,
    ):
        self.autoplay, self.rate, self.element_id = autoplay, rate, element_id
        self.embed = embed if embed is not None else url is None
        if data is not None and not isinstance(data, (str, bytes)):
            if rate is None:
                raise ValueError(
                    "rate must be specified when data is a numpy array or list of audio samples."
                )
            data = self._wave(data, rate, normalize)
        self.metadata = {}
        if self.embed:
            DisplayObject.__init__(self, data, url, filename)
            self.mimetype = library("mimetypes").guess_type(str(filename or url or ""))[0] or "audio/wav"
        else:
            self.data, self.url, self.filename = None, url or data, filename
            self.mimetype = library("mimetypes").guess_type(str(self.url))[0] or "audio/wav"

    def _is_file(self, text):
        return os.path.exists(text)

    @staticmethod
    def _wave(samples, rate, normalize):
        wave, struct = library("wave"), library("struct")
        rows = samples.tolist() if hasattr(samples, "tolist") else list(samples)
        channels = 1
        if rows and isinstance(rows[0], list):
            channels = len(rows)
            rows = [value for frame in zip(*rows) for value in frame]
        top = max((abs(value) for value in rows), default=0) or 1
        scale = 32767 / (top if normalize else 1)
        file = io.BytesIO()
        with wave.open(file, "wb") as out:
            out.setnchannels(channels)
            out.setframerate(rate)
            out.setsampwidth(2)
            out.writeframes(struct.pack("<%dh" % len(rows), *[int(value * scale) for value in rows]))
        return file.getvalue()

    def _repr_html_(self):
        source = self.url
        if self.embed:
            source = "data:%s;base64,%s" % (self.mimetype, base64_text(self.data))
        return (
            '\n                <audio %s controls="controls" %s>\n'
            '                    <source src="%s" type="%s" />\n'
            "                    Your browser does not support the audio element.\n"
            "                </audio>\n              "
            % (
                'id="%s"' % self.element_id if self.element_id else "",
                'autoplay="autoplay"' if self.autoplay else "",
                source,
                self.mimetype,
            )
        )


class Code(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, language=None):
        self.language = language
        TextDisplayObject.__init__(self, data, url, filename)

    def _is_file(self, text):
        return os.path.exists(text)

    def _repr_html_(self):
        return "<pre>%s</pre>" % library("html").escape(self.data)

    def __repr__(self):
        return self.data


class IFrame:
    """A page inside the page."""

    def __init__(self, src, width, height, extras=None, **params):
        self.src, self.width, self.height, self.params = src, width, height, params
        self.extras = extras or []

    def _repr_html_(self):
        params = "?" + library("urllib.parse").urlencode(self.params) if self.params else ""
        return (
            '\n        <iframe\n            width="%s"\n            height="%s"\n            src="%s%s"\n'
            '            frameborder="0"\n            allowfullscreen\n'
            '            referrerpolicy="strict-origin-when-cross-origin"\n            %s\n'
            "        ></iframe>\n        "
            % (self.width, self.height, self.src, params, " ".join(self.extras))
        )


class YouTubeVideo(IFrame):
    def __init__(self, id, width=400, height=300, allow_autoplay=False, **params):
        self.id = id
        IFrame.__init__(self, "https://www.youtube.com/embed/%s" % id, width, height, **params)


class VimeoVideo(IFrame):
    def __init__(self, id, width=400, height=300, **params):
        self.id = id
        IFrame.__init__(self, "https://player.vimeo.com/video/%s" % id, width, height, **params)


class FileLink:
    """A link to a file."""

    def __init__(self, path, url_prefix="", result_html_prefix="", result_html_suffix="<br>"):
        self.path, self.url_prefix = os.fspath(path), url_prefix
        self.prefix, self.suffix = result_html_prefix, result_html_suffix

    def _repr_html_(self):
        if not os.path.exists(self.path):
            return "Path (<tt>%s</tt>) doesn't exist." % self.path
        escaped = library("html").escape(self.path)
        link = "<a href='%s%s' target='_blank'>%s</a>" % (self.url_prefix, escaped, escaped)
        return self.prefix + link + self.suffix

    def __repr__(self):
        return os.path.abspath(self.path)


class FileLinks(FileLink):
    """Links to all files of a folder."""

    def _files(self):
        for folder, _, names in sorted(os.walk(self.path)):
            for name in sorted(names):
                yield os.path.join(folder, name)

    def _repr_html_(self):
        return "\n".join(FileLink(name, self.url_prefix)._repr_html_() for name in self._files())

    def __repr__(self):
        return "\n".join(self._files())


class ProgressBar:
    """How far something is."""

    def __init__(self, total):
        self.total, self._progress = total, 0
        self.html_width, self.text_width = "60ex", 60
        self._display_id = os.urandom(8).hex()

    def __repr__(self):
        done = int(self.text_width * self._progress / self.total) if self.total else 0
        return "[%s%s] %s/%s" % ("=" * done, " " * (self.text_width - done), self._progress, self.total)

    def _repr_html_(self):
        return "<progress style='width:%s' max='%s' value='%s'></progress>" % (
            self.html_width,
            self.total,
            self._progress,
        )

    def display(self):
        """Shows it."""
        display(self, display_id=self._display_id)

    def update(self):
        """Shows how far it is now."""
        update_display(self, display_id=self._display_id)

    @property
    def progress(self):
        """Steps done."""
        return self._progress

    @progress.setter
    def progress(self, value):
        self._progress = value
        self.update()

    def __iter__(self):
        self.display()
        self._progress = -1
        return self

    def __next__(self):
        self.progress += 1
        if self.progress < self.total:
            return self.progress
        raise StopIteration
