"""Which version of IPython a traceback has to look like: the installed one, or the newest for this Python."""

import os
import re
import sys

from ..hooks import find_spec

# The newest IPython that each old Python can have, and the one for all others.
NEWEST_FOR = {(3, 8): (8, 12), (3, 9): (8, 18), (3, 10): (8, 39)}
NEWEST = (9, 18)


class Layout:
    """The differences between versions of IPython that a reader can see."""

    def __init__(self, version, home=None):
        self.version = version
        # The folder of the installed package, if any.
        self.home = home
        # Source that is in no file, and source of long files, is shown line by line, without a look at its syntax.
        # Frames of IPython itself are left out.
        self.raw_cells = version >= (9, 13)
        # The mark for left-out lines is a line of its own.
        self.gap = "   (...)\n" if version < (9, 0) else "   (...)"
        self.notes = version >= (8, 14)
        self.groups = version >= (8, 15)
        # An error without its frames comes with the errors before it.
        self.chains_minimal = version < (8, 37)
        self.marks_missing_source = version >= (8, 24)

    def run_code_line(self):
        """The file and the line with which IPython runs the code of a cell, and its text; none without IPython."""
        if self.home is None:
            return None
        path = os.path.join(self.home, "core", "interactiveshell.py")
        try:
            with open(path, encoding="utf-8") as file:
                for number, line in enumerate(file, 1):
                    if line.strip() == "exec(code_obj, self.user_global_ns, self.user_ns)":
                        return path, number, line.strip()
        except OSError:
            pass
        return None


_known = {}


def layout():
    """The layout for this process."""
    made = _known.get("layout")
    if made is None:
        made = _known["layout"] = _installed() or Layout(NEWEST_FOR.get(sys.version_info[:2], NEWEST))
    return made


def _installed():
    """The layout of the IPython that is installed here, found without importing it."""
    try:
        spec = find_spec("IPython", None, None)
        if spec is None or not spec.origin:
            return None
        home = os.path.dirname(spec.origin)
        with open(os.path.join(home, "core", "release.py"), encoding="utf-8") as file:
            text = file.read()
    except (OSError, ValueError, ImportError):
        return None
    parts = [re.search(r"^_version_%s\s*=\s*(\d+)" % part, text, re.M) for part in ("major", "minor")]
    if None in parts:
        return None
    version = tuple(int(part.group(1)) for part in parts)
    # Layouts of long ago are shown as the first of today's.
    return Layout(max(version, (8, 7)), home)
