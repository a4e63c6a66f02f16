# SPDX-License-Identifier: Apache-2.0
"""One line a check (`ok NAME`, `FAILED NAME: why`, `skipped NAME: reason`), and the sum of them."""
import concurrent.futures
import contextlib
import threading
import time
import traceback


SLOW_SECONDS = 20


class Skip(Exception):
    """Raised by a check that cannot run here; its text is the reason."""


class Report:
    def __init__(self, only=None):
        self.passed = self.failed = self.skipped = 0
        self._only = only
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def check(self, name):
        """The body is the check: it passes if it ends without an exception."""
        began = time.monotonic()
        try:
            yield
        except Skip as reason:
            self._count("skipped", f"skipped {name}: {reason}")
        except Exception as error:  # noqa: BLE001: whatever goes wrong in a check fails the check
            why = " ".join(str(error).split()) or type(error).__name__
            if not isinstance(error, AssertionError):
                frame = traceback.extract_tb(error.__traceback__)[-1]
                why = f"{type(error).__name__} at {frame.name}:{frame.lineno}: {why}"
            self._count("failed", f"FAILED {name}: {why[:800]}")
        else:
            self._count("passed", f"ok {name}")
        took = time.monotonic() - began
        if took > SLOW_SECONDS and not name.startswith("part_"):
            print(f"# {name} took {took:.0f} s", flush=True)

    def _count(self, result, line):
        with self._lock:
            setattr(self, result, getattr(self, result) + 1)
            print(line, flush=True)

    def run(self, name, body, *arguments):
        """The same for a function; those not asked for on the command line are left out."""
        if self._only is not None and self._only not in name:
            return
        with self.check(name):
            body(*arguments)

    def summary(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def at_once(body, items, workers=3):
    """Calls it for each item, a few at a time: clients wait more than they work."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(body, item) for item in items]:
            done.result()


def wait_until(true, what, seconds=30):
    """Polls until `true()` holds, at most that long. Returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        value = true()
        if value:
            return value
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.05)


def expect_equal(got, wanted, what):
    if got == wanted:
        return
    if isinstance(got, list) and isinstance(wanted, list):
        for index, (one, other) in enumerate(zip(got, wanted)):
            if one != other:
                raise AssertionError(f"{what}: item {index} is {one!r:.200}, wanted {other!r:.200} "
                                     f"({len(got)} items, wanted {len(wanted)})")
        raise AssertionError(f"{what}: {len(got)} items, wanted {len(wanted)}")
    raise AssertionError(f"{what}: {got!r:.300}, wanted {wanted!r:.300}")
