# SPDX-License-Identifier: Apache-2.0
"""Steps through the kcat program. It cannot set timestamps, and gives all records of one call the
same headers; so each run of records that are alike is one call."""
import itertools
import re
import subprocess
import sys

import steps

# Neither occurs in what we send.
KEY_END, RECORD_END = "\x1f", "\x1e"
FORMAT = "%o %T %K %S|%k%s|%h\n"
FIELDS = re.compile(rb"(\d+) (-?\d+) (-?\d+) (-?\d+)\|")


class Driver:
    def __init__(self, address):
        self.address = address

    def kcat(self, *arguments, data=b""):
        done = subprocess.run(["kcat", "-b", self.address, *arguments], input=data,
                              capture_output=True, timeout=steps.CONSUME_SECONDS, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"kcat {' '.join(arguments)}: exit code {done.returncode}: "
                               f"{done.stderr.decode(errors='replace')[-300:]}")
        return done.stdout

    def about(self):
        text = subprocess.run(["kcat", "-V"], capture_output=True, text=True, check=True).stdout
        version = re.search(r"Version (\S+).*librdkafka (\S+)", text)
        return {"name": f"kcat {version[1]} with librdkafka {version[2]}", "idempotent": True,
                "codecs": ["none", "gzip", "snappy", "lz4", "zstd"],
                "timestamps": False, "null_headers": False, "follows": False}

    def produce(self, topic, codec, idempotent, records, batch_bytes=steps.BATCH_BYTES):
        def kind(record):
            key, value, headers, _ = record
            return key is None, value is None, headers

        for (no_key, no_value, headers), run in itertools.groupby(
                map(steps.record_of, records), kind):
            options = ["-P", "-t", topic, "-p", "0", "-z", codec, "-D", RECORD_END,
                       "-X", f"enable.idempotence={str(idempotent).lower()}", "-X", "acks=all",
                       "-X", "linger.ms=20", "-X", f"batch.size={batch_bytes}"]
            options += [] if no_key else ["-K", KEY_END]
            options += ["-Z"] if no_value else []
            for name, value in headers:
                options += ["-H", f"{name}={value.decode()}"]
            lines = [(b"" if no_key else key + KEY_END.encode()) + (value or b"")
                     for key, value, _, _ in run]
            self.kcat(*options, data=b"".join(line + RECORD_END.encode() for line in lines))
        return {"offsets": None}

    def consume(self, topic, offset=None, timestamp=None, fetch_bytes=None):
        start = f"s@{timestamp}" if timestamp is not None else str(offset)
        options = [] if fetch_bytes is None else [
            "-X", f"fetch.message.max.bytes={fetch_bytes}", "-X", "message.max.bytes=1000",
            "-X", f"fetch.max.bytes={max(fetch_bytes, 1000)}"]
        data = self.kcat("-C", "-t", topic, "-p", "0", "-o", start, "-e", "-q", "-f", FORMAT,
                         "-X", "fetch.wait.max.ms=50", *options)
        records, at = [], 0
        while at < len(data):
            fields = FIELDS.match(data, at)
            number, time, key_size, value_size = map(int, fields.groups())
            at = fields.end()
            key = data[at:at + key_size] if key_size >= 0 else None
            at += max(key_size, 0)
            value = data[at:at + value_size] if value_size >= 0 else None
            at += max(value_size, 0) + 1
            end = data.index(b"\n", at)
            headers = [header.split(b"=", 1) for header in data[at:end].split(b",") if header]
            at = end + 1
            records.append(steps.item_of(number, time, key, value,
                                         [(name.decode(), None if content == b"NULL" else content)
                                          for name, content in headers]))
        # kcat -e ends at the end of the partition, or it is stopped as stuck.
        return {"records": records, "position": None, "high_watermark": None}

    def lookup(self, topic, timestamps):
        offsets = []
        for timestamp in timestamps:
            text = self.kcat("-Q", "-t", f"{topic}:0:{timestamp}").decode()
            offsets.append(int(re.search(r"offset (-?\d+)", text)[1]))
        return {"offsets": offsets}


if __name__ == "__main__":
    steps.serve(Driver(sys.argv[1]))
