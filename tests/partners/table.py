"""Rows of the partners' table: what was tried, what came of it, how long it took.

Never starts anything.
"""

import time

PASSED, FAILED, NOT_RUN = "passed", "failed", "not run"


class Failed(Exception):
    """A partner found something wrong. The text says what, with all that was printed."""


class NotRun(Exception):
    """There was no way to try it: something cannot be installed, or no time is left."""


class Clock:
    """The time that all rows share."""

    def __init__(self, seconds):
        self.began = time.monotonic()
        self.ends = self.began + seconds

    def left(self):
        return self.ends - time.monotonic()

    def gone(self):
        return time.monotonic() - self.began


class Table:
    """Plays rows one after the other and remembers what came of them."""

    def __init__(self, clock):
        self.clock = clock
        self.rows = []

    def play(self, partner, what, least_seconds, act):
        """One row. It is not begun when less than `least_seconds` is left.

        A row that fails is played once more, and says so: a partner's verdict may hang on whether it was
        still sending when we hung up. A fault of ours fails twice.
        """
        began = time.monotonic()
        print(f"\n-- {partner}: {what}", flush=True)
        verdict, note = self.go(least_seconds, act)
        if verdict == FAILED and self.clock.left() >= least_seconds:
            print(f"   {verdict} {note}; once more", flush=True)
            verdict, again = self.go(least_seconds, act)
            note = f"{again} (at the second go; first: {note})"
        self.rows.append((verdict, partner, what, time.monotonic() - began, note))
        print(f"   {verdict} {note}", flush=True)

    def go(self, least_seconds, act):
        """Plays a row; its verdict and a note."""
        try:
            if self.clock.left() < least_seconds:
                raise NotRun("no time is left for it")
            return PASSED, act() or ""
        except NotRun as reason:
            return NOT_RUN, str(reason)
        except Failed as reason:
            print(f"{reason}", flush=True)
            return FAILED, first_line(reason)
        except Exception as error:  # a fault of the driver is a fault of the test
            print(repr(error), flush=True)
            return FAILED, f"{type(error).__name__}: {first_line(error)}"

    def skip(self, partner, rows, reason):
        """Rows that cannot be tried, with the reason."""
        for what in rows:
            self.rows.append((NOT_RUN, partner, what, 0.0, reason))

    def show(self):
        """Prints the table and returns the exit code: 1 when a row failed."""
        widths = [max(len(row[at]) for row in self.rows) for at in (0, 1, 2)]
        print(f"\n== partners ({self.clock.gone():.0f} s)")
        for verdict, partner, what, seconds, note in self.rows:
            cells = [verdict.ljust(widths[0]), partner.ljust(widths[1]), what.ljust(widths[2])]
            print(f"{'  '.join(cells)}  {seconds:6.1f} s  {note}".rstrip())
        count = {verdict: sum(row[0] == verdict for row in self.rows) for verdict in (PASSED, FAILED, NOT_RUN)}
        print(", ".join(f"{number} {verdict}" for verdict, number in count.items()))
        if count[NOT_RUN]:
            print("!! NOT RUN: the rows above that say so prove nothing on this machine. The reasons stand beside them.")
        return 1 if count[FAILED] else 0


def first_line(text):
    lines = str(text).strip().splitlines()
    return lines[0] if lines else ""
