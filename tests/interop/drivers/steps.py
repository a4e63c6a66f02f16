# SPDX-License-Identifier: Apache-2.0
"""What every driver has in common: one step a line on standard input, one answer a line.

A step is a JSON object, its "do" is the name of a method of the driver; the answer is what the
method returned, or {"error": text}. Bytes are base64, a record is
    [key or null, value or null, [[header, value or null], ...], timestamp or null]
and one that was read is [offset, timestamp, key, value, headers].

    about                                       -> {"name", "codecs", ...}
    produce  topic codec idempotent records [batch_bytes]
                                                -> {"offsets"}  (null: it does not tell)
    consume  topic offset|timestamp [fetch_bytes]
        up to the high watermark as it was at the start
                                                -> {"records", "position", "high_watermark"}
    lookup   topic timestamps                   -> {"offsets"}  (-1: none)
    follow   topic value    through one producer and one consumer that live as long as the driver:
        writes the value and waits until it is read
                                                -> {"offset"}
"""
import base64
import json
import sys
import time

CONSUME_SECONDS = 90
# Long, for the sake of busy machines.
DELIVERY_SECONDS = 120
BATCH_BYTES = 16384


def to_bytes(text):
    return None if text is None else base64.b64decode(text)


def to_text(data):
    return None if data is None else base64.b64encode(bytes(data)).decode()


def record_of(item):
    key, value, headers, timestamp = item
    return to_bytes(key), to_bytes(value), [(n, to_bytes(v)) for n, v in headers], timestamp


def item_of(offset, timestamp, key, value, headers):
    return [offset, timestamp, to_text(key), to_text(value),
            [[name, to_text(content)] for name, content in headers or ()]]


class Deadline:
    def __init__(self, what, seconds=CONSUME_SECONDS):
        self.what, self.end = what, time.monotonic() + seconds

    def check(self, state):
        if time.monotonic() > self.end:
            raise TimeoutError(f"{self.what} is stuck: {state}")


def serve(driver):
    for line in sys.stdin:
        step = json.loads(line)
        try:
            answer = getattr(driver, step.pop("do"))(**step)
        except Exception as error:  # noqa: BLE001: told to the one who asked
            answer = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
