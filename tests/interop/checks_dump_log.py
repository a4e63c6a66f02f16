# SPDX-License-Identifier: Apache-2.0
"""Apache Kafka's kafka-dump-log reads our segments: before and after compaction."""
import json
import pathlib
import re
import shutil
import signal
import tempfile
import time

import batches
import kafka_tools
import segments
from broker import QUICK, Broker, compacted
from report import expect_equal, wait_until

COMPLAINTS = ("Mismatches in", "Found timestamp mismatch", "Found out of order timestamp",
              "Found indexed offset", "isvalid: false", "Exception", "corrupt", "ERROR")
TOPIC = "dumped"
KEYS, BATCHES, BATCH_RECORDS = 200, 120, 25


def copy_with_plain_names(folder, target):
    """kafka-dump-log wants <base>.log; ours have a generation in the name after a pass."""
    target.mkdir(parents=True)
    for path in folder.iterdir():
        if path.suffix in (".log", ".index", ".timeindex"):
            shutil.copy(path, target / f"{path.name.split('.')[0]}{path.suffix}")


class DumpChecks:
    def __init__(self, report):
        self.report = report

    def run(self):
        held_back = compacted(**{"segment.bytes": 128 << 10, "segment.ms": 400,
                                 "min.compaction.lag.ms": 3600_000})
        with Broker({"topics": {TOPIC: held_back}}) as broker:
            self._produce(broker)
            # The last segment closes by the clock, so that all of them have their indexes.
            folder = broker.partition_folder(TOPIC)
            wait_until(lambda: (folder / f"{BATCHES * BATCH_RECORDS + KEYS:020}.log").exists(),
                       "the last segment is closed")
            self.report.run("kafka_dump_log_reads_segments_before_compaction",
                            self._check_before, broker)
            self._let_it_compact(broker, {**held_back, "min.compaction.lag.ms": 0})
            self.report.run("kafka_dump_log_reads_segments_after_compaction",
                            self._check_after, broker)

    def check_topics(self, broker, topics, when):
        """The segments of topics that others wrote; all in one go."""
        self.report.run(f"kafka_dump_log_reads_what_the_clients_wrote_{when}",
                        self._dump, broker, topics, when != "before_compaction")

    @staticmethod
    def _produce(broker):
        now = int(time.time() * 1000)
        with broker.connect() as connection:
            for number in range(BATCHES):
                records = [(b"key-%d" % ((number * BATCH_RECORDS + n) % KEYS), b"v" * 400, now + n)
                           for n in range(BATCH_RECORDS)]
                answer = connection.produce(TOPIC, batches.batch(records))
                expect_equal(answer["error_code"], 0, "error of a produce")
            # A tombstone for every second key; a last value for the others.
            records = [(b"key-%d" % n, b"last" if n % 2 else None, now) for n in range(KEYS)]
            connection.produce(TOPIC, batches.batch(records))

    @staticmethod
    def _let_it_compact(broker, configs):
        """New settings for the topic, by SIGHUP."""
        (broker.folder / "settings.json").write_text(json.dumps(
            {**QUICK, "topics": {TOPIC: configs}}))
        broker.process.send_signal(signal.SIGHUP)
        folder = broker.partition_folder(TOPIC)
        wait_until(lambda: segments.record_count(folder) == KEYS, "compaction")

    def _check_before(self, broker):
        kafka_tools.need()
        text = self._dump(broker, [TOPIC], False)
        assert "OptionalLong[" not in text, "a delete horizon before any pass"
        expect_equal(len(re.findall(r"^\| offset: ", text, re.M)), BATCHES * BATCH_RECORDS + KEYS,
                     "dumped records")

    def _check_after(self, broker):
        kafka_tools.need()
        text = self._dump(broker, [TOPIC], True)
        expect_equal(len(re.findall(r"^\| offset: ", text, re.M)), KEYS, "dumped records")
        expect_equal(len(re.findall(r"valueSize: -1 ", text)), KEYS // 2, "dumped tombstones")
        horizons = [int(h) for h in re.findall(r"deleteHorizonMs: OptionalLong\[(\d+)\]", text)]
        assert horizons, "no delete horizon on a batch with tombstones"
        day = 24 * 3600 * 1000
        for horizon in horizons:
            assert abs(horizon - day - time.time() * 1000) < 300_000, f"horizon {horizon}"

    def _dump(self, broker, topics, may_have_gaps):
        """What it said about the .log files; nothing that it says may be a complaint."""
        kafka_tools.need()
        with tempfile.TemporaryDirectory(prefix="lastword-dump-") as folder:
            for topic in topics:
                copy_with_plain_names(broker.partition_folder(topic), pathlib.Path(folder) / topic)
            copies = sorted(pathlib.Path(folder).glob("*/*"))
            logs = [str(path) for path in copies if path.suffix == ".log"]
            indexes = [str(path) for path in copies if path.suffix != ".log"]
            text = kafka_tools.run("dump-log", "--deep-iteration", "--print-data-log",
                                   "--files", ",".join(logs))
            self._check_logs(text, folder, topics, may_have_gaps)
            sane = kafka_tools.run("dump-log", "--index-sanity-check", "--files", ",".join(indexes))
            verified = kafka_tools.run("dump-log", "--verify-index-only",
                                       "--files", ",".join(indexes))
            self._expect_no_complaint(sane + verified)
            for path in indexes:
                good = f"{path} passed sanity check." in sane or f"{path} is empty." in sane
                assert good, f"nothing good is said about {path}: {sane[-300:]}"
        return text

    def _check_logs(self, text, folder, topics, may_have_gaps):
        self._expect_no_complaint(text)
        # It counts from -1 in each file, and so finds a gap in front of each that begins above 0.
        gaps = [line for line in re.findall(r"^  (-?\d+ is followed by \d+)$", text, re.M)
                if not line.startswith("-1 ")]
        assert may_have_gaps or not gaps, f"gaps in offsets: {gaps[:5]}"
        valid = len(re.findall(r"^baseOffset: .* isvalid: true$", text, re.M))
        wanted = sum(len(segments.read(pathlib.Path(folder) / topic, check_crc=False))
                     for topic in topics)
        expect_equal(valid, wanted, "batches that are valid")

    @staticmethod
    def _expect_no_complaint(text):
        for line in text.splitlines():
            if not line.startswith("| offset:"):
                assert not any(c in line for c in COMPLAINTS), f"kafka-dump-log says: {line}"
