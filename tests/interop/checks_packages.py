# SPDX-License-Identifier: Apache-2.0
"""Real input: the package index that a Debian machine carries, twice over with changes.

Key: a package's name; value: its paragraph. What the second list lacks becomes a tombstone. After
compaction, and when the tombstones are gone, the table equals the second list, byte for byte.
"""
import base64
import json
import pathlib
import subprocess

import segments
from broker import PROGRAMS, Broker, compacted
from checks_clients import item
from clients import KINDS, Clients
from report import Skip, at_once, expect_equal, wait_until
from steps import to_bytes

WRITERS = ("kcat", "kafka-python-debian", "confluent-debian")
CODEC = {"kcat": "lz4", "kafka-python-debian": "gzip", "confluent-debian": "zstd"}
CLEANING_SECONDS = 180


def package_paragraphs():
    """Where they are from, and [(name, paragraph)]; a name can come more than once."""
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=False).stdout
    source = "apt-cache dumpavail"
    if not listed.strip():
        listed = pathlib.Path("/var/lib/dpkg/status").read_bytes()
        source = "/var/lib/dpkg/status, since the machine carries no package lists"
    paragraphs = []
    for text in listed.split(b"\n\n"):
        text = text.strip(b"\n")
        if text.startswith(b"Package: "):
            paragraphs.append((text.split(b"\n", 1)[0][len(b"Package: "):], text + b"\n"))
    return source, paragraphs


def second_list(first):
    """Every 10th package is gone, every 7th has another paragraph, the rest are as they were."""
    names = list(first)
    changed = {}
    for index, name in enumerate(names):
        if index % 10 == 3:
            continue
        changed[name] = first[name] + (b"Changed: yes, at %d\n" % index if index % 7 == 0 else b"")
    return changed


def field(row, name):
    """Of a JSON line: as text, or as base64 where it is no text."""
    return row[name].encode() if name in row else base64.b64decode(row[f"{name}_base64"])


def expect_table(got, wanted, what):
    wrong = sorted(key for key in got.keys() | wanted.keys() if got.get(key) != wanted.get(key))
    assert not wrong, f"{what}: {len(wrong)} keys differ, the first is {wrong[0]}: " \
                      f"{got.get(wrong[0])!r:.200}, wanted {wanted.get(wrong[0])!r:.200}"


class PackageChecks:
    def __init__(self, report):
        self.report = report
        source, self.paragraphs = package_paragraphs()
        self.first = dict(self.paragraphs)
        self.second = second_list(self.first)
        size = sum(len(text) for _, text in self.paragraphs) / 1e6
        print(f"# {len(self.paragraphs)} paragraphs of {len(self.first)} packages, {size:.0f} MB, "
              f"from {source}", flush=True)

    def run(self):
        with Broker() as self.broker, Clients(self.broker.address) as self.clients:
            at_once(self._run_one, [kind for kind in KINDS if kind.name in WRITERS], workers=2)

    def _run_one(self, kind):
        self.report.run(f"packages_through_{kind.name}", self._round_trip, kind)

    def _round_trip(self, kind):
        if reason := kind.why_not():
            raise Skip(reason)
        topic = f"packages.{kind.name}"
        self.broker.create_topic(topic, compacted(**{
            "segment.bytes": 8 << 20, "segment.ms": 1000, "delete.retention.ms": 1000}))
        client = self.clients.get(kind)

        def write(records):
            client.ask("produce", topic=topic, codec=CODEC[kind.name], idempotent=False,
                       records=records, batch_bytes=256 << 10)

        write([item(name, text) for name, text in self.paragraphs])
        expect_table(self._table(client, topic), self.first, "the table after the first list")
        gone = [name for name in self.first if name not in self.second]
        write([item(name, text) for name, text in self.second.items()] +
              [item(name, None) for name in gone])
        written = len(self.paragraphs) + len(self.first)
        expect_equal(self.broker.high_watermark(topic), written, "high watermark")

        folder = self.broker.partition_folder(topic)
        wait_until(lambda: segments.record_count(folder) == len(self.second),
                   f"compaction and the end of {len(gone)} tombstones", CLEANING_SECONDS)
        expect_table(self._table(client, topic), self.second, "the table after compaction")
        self._check_lastword(topic)

    def _table(self, client, topic):
        """As a reader should: insert, overwrite, delete on null."""
        table = {}
        for _, _, key, value, _ in client.ask("consume", topic=topic, offset=0)["records"]:
            if value is None:
                table.pop(to_bytes(key), None)
            else:
                table[to_bytes(key)] = to_bytes(value)
        return table

    def _check_lastword(self, topic):
        program = PROGRAMS / "lastword"
        if not program.exists():
            print(f"# {program} is not there: lastword table was not compared", flush=True)
            return
        lines = subprocess.run(
            [program, "table", topic, "--broker", self.broker.address, "--format", "json"],
            capture_output=True, check=True, timeout=60).stdout.splitlines()
        rows = [json.loads(line) for line in lines]
        table = {field(row, "key"): field(row, "value") for row in rows}
        expect_table(table, self.second, "lastword table")
