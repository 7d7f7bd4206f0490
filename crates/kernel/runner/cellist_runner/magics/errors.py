"""Magics about errors: showing them again, how much of them is shown, and the debugger."""

import sys

from ..base import load
from ..shell import XMODES, warn


class ErrorMagics:
    """Errors: showing them again, how much of them is shown, and the debugger."""

    def line_tb(self, line=""):
        """Shows the newest error again, in another mode if one is named."""
        shell, mode = self.shell, line.strip().capitalize()
        if not mode:
            shell.showtraceback()
        elif self._is_mode(mode):
            kept, shell.xmode = shell.xmode, mode
            try:
                shell.showtraceback()
            finally:
                shell.xmode = kept

    def line_xmode(self, line=""):
        """How much of a traceback is shown; without a mode, the next one."""
        mode = line.strip().capitalize()
        if not mode:
            mode = XMODES[(XMODES.index(self.shell.xmode) + 1) % len(XMODES)]
        if self._is_mode(mode):
            self.shell.xmode = mode
            print("Exception reporting mode: %s" % mode)

    def _is_mode(self, mode):
        """Whether there is such a mode; warns where there is not."""
        if mode not in XMODES:
            text = "Error changing user exception modes.\nUnrecognized mode in FormattedTB: <%s>\nValid modes: %s"
            warn(text % (mode, list(XMODES)))
        return mode in XMODES

    def line_debug(self, line=""):
        """Starts the debugger where the newest error was raised, or on a statement."""
        if line.strip():
            load("debugging").run_statement(line)
            return
        error = getattr(sys, "last_value", None)
        if error is None:
            print("ERROR:root:No traceback has been produced, nothing to debug.", file=sys.stderr)
            return
        load("debugging").post_mortem(error)

    def cell_debug(self, line, cell):
        """Runs the cell under the debugger."""
        load("debugging").run_statement(line + "\n" + cell)

    def line_pdb(self, line=""):
        """Whether the debugger starts at each error."""
        choice = line.strip().lower()
        known = {"off": False, "0": False, "on": True, "1": True, "": not self.shell.call_pdb}
        if choice not in known:
            print("Incorrect argument. Use on/1, off/0, or nothing for a toggle.")
            return
        self.shell.call_pdb = known[choice]
        print("Automatic pdb calling has been turned", "ON" if known[choice] else "OFF")
