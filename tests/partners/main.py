"""Plays software that others wrote against the binary, and prints a table of what came of it.

usage: main.py BINARY FOLDER    the binary to try, and a folder for what has to be installed

Exit code 1 when a partner found something wrong. What could not be installed is "not run", and does not
change the exit code. Listens on and calls the loopback address only.
"""

import os
import signal
import sys

import crew
import faults
import real_model
from install import Installed
from table import Clock, NotRun, Table

ALL_SECONDS = 8 * 60


def main():
    binary, folder = (os.path.abspath(path) for path in sys.argv[1:3])
    # Ended from outside, it ends what it started: the exception runs through every `with`.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    clock = Clock(ALL_SECONDS - 15)
    table = Table(clock)
    installed = Installed(folder, clock)
    try:
        installed.python()
    except NotRun as reason:
        table.skip("llmock", faults.names(), str(reason))
        table.skip("llama.cpp", real_model.names(), str(reason))
    else:
        faults.play(table, installed, binary)
        real_model.play(table, installed, binary)
    try:
        aimock = installed.aimock()
    except NotRun as reason:
        table.skip("aimock", crew.names(), str(reason))
    else:
        crew.play(table, aimock, binary)
    return table.show()


if __name__ == "__main__":
    sys.exit(main())
