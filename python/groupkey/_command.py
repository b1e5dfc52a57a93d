"""The command `groupkey`."""

from __future__ import annotations

import signal
import sys

from groupkey import _groupkey


def main() -> None:
    """Runs the command on the program's arguments, and ends the program with its exit code."""
    # Python's handler would only take a note, and nobody reads it while the command runs.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_groupkey.run(sys.argv[1:]))
