"""Servers on the loopback address, each on a port that the system picks, and each ended by its id.

Never signals a process that was not started here.
"""

import ctypes
import os
import re
import select
import signal
import subprocess
import time

from table import Failed

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    """A server does not outlive the driver, however that one ends."""
    if hasattr(LIBC, "prctl"):
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """A program that says on which address it listens. Use it in a `with`."""

    def __init__(self, command, folder, says, seconds):
        """`says` is a pattern whose first group is the address, as the program prints it."""
        self.log_path = os.path.join(folder, "server.log")
        self.log = open(self.log_path, "wb")
        self.child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        try:
            self.address = self.announced(re.compile(says), seconds)
        except BaseException:
            self.end()
            raise

    def announced(self, pattern, seconds):
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            found = pattern.search(self.said())
            if found:
                return found.group(1)
            if self.child.poll() is not None:
                raise Failed(f"the server ended with {self.child.returncode} before it listened\n{self.said()}")
            select.select([], [], [], 0.05)
        raise Failed(f"the server did not listen within {seconds:.0f} s\n{self.said()}")

    def said(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Ends the program and what it started: its process group is its own."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.child.poll() is None:
                try:
                    os.killpg(self.child.pid, number)
                except ProcessLookupError:
                    pass
                try:
                    self.child.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    continue
        self.log.close()
