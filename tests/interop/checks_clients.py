# SPDX-License-Identifier: Apache-2.0
"""Every client writes with every codec that it has; every client reads what every client wrote."""
import json
import time

import batches
import segments
from broker import Broker, compacted
from clients import KINDS, Clients
from report import Skip, at_once, expect_equal, wait_until
from steps import to_bytes, to_text

CODECS = segments.CODECS
T0 = (int(time.time()) - 3600) * 1000
KEYS, ROUNDS = 30, 8
LARGE = "large"
# Topics that are also read from the middle and by time, which takes three times as long.
CLOSELY = (".none", ".zstd", "shortened.java.gzip", "shortened.kcat.gzip")


def item(key, value, headers=(), timestamp=None):
    return [to_text(key), to_text(value), [[n, to_text(v)] for n, v in headers], timestamp]


def value_of(number):
    return b"value %d, " % number * 12 + bytes(range(32, 127))


def all_kinds_of_records(about):
    """Plain ones, null and empty values, null keys, headers, bytes that are no text."""
    headers = [("h1", b"one"), ("h2", b"two")]
    records = [(b"k%d" % n, value_of(n), ()) for n in range(60)]
    records += [(b"gone, %d" % n * 9, None, ()) for n in range(9)]
    records += [(b"empty, %d" % n * 9, b"", ()) for n in range(9)]
    records += [(None, value_of(n), ()) for n in range(5)]
    records += [(b"headers%d" % n, value_of(n), headers) for n in range(5)]
    records += [(b"\0\xff\xfe key", b"\xff\0\xfe value" * 20, ())]
    if about["null_headers"]:
        records += [(b"null header", b"v", [("none", None), ("empty", b"")])]
    # Times go up and down a little: they are not in the order of the offsets.
    times = [T0 + 1000 * (n + (3 if n % 5 == 0 else 0)) for n in range(len(records))]
    return [item(key, value, pairs, at if about["timestamps"] else None)
            for (key, value, pairs), at in zip(records, times)]


def overwriting_records(about):
    """Each key many times; a third of the keys ends with a tombstone."""
    records = [(b"k%d" % key, value_of(KEYS * turn + key))
               for turn in range(ROUNDS) for key in range(KEYS)]
    records += [(b"k%d" % key, None) for key in range(0, KEYS, 3)]
    return [item(key, value, (), T0 + n if about["timestamps"] else None)
            for n, (key, value) in enumerate(records)]


def records_with_a_dropped_end(about):
    records = [(b"k%d" % key, value_of(key)) for key in range(20)]
    records += [(b"k%d" % key, None) for key in range(10)]
    return [item(key, value, (), T0 + n if about["timestamps"] else None)
            for n, (key, value) in enumerate(records)]


class ClientChecks:
    def __init__(self, report, kinds=None):
        self.report = report
        self.kinds = kinds or KINDS
        self.written = {}  # topic -> records, in the order of their offsets
        self.tombstones_go = set()

    def run(self, after_writing=None, after_cleaning=None):
        """The two calls get the broker when the topics are written, and when they are compacted."""
        with Broker() as self.broker, Clients(self.broker.address) as self.clients:
            self.here = [kind for kind in self.kinds if self._is_here(kind)]
            at_once(self._write_all, self.here)
            if after_writing:
                after_writing(self.broker, sorted(self.written))
            at_once(self._read_plain, self.here)
            for kind in self.here:
                for topic in self._topics(kind, "compacted", "shortened"):
                    self.report.run(f"{topic}_is_compacted", self._wait_for_compaction, topic)
            if after_cleaning:
                after_cleaning(self.broker, sorted(self.written))
            at_once(self._read_compacted, self.here)
            self._write_special_topics()
            at_once(self._check_special_topics, self.here)

    def _is_here(self, kind):
        here = False

        def start():
            nonlocal here
            if reason := kind.why_not():
                raise Skip(reason)
            print(f"# {kind.name}: {self.clients.get(kind).about['name']}", flush=True)
            here = True

        self.report.run(f"{kind.name}_starts", start)
        return here

    def _topics(self, kind, *sorts):
        """What that client wrote."""
        return [topic for topic in self.written
                if topic.split(".")[0] in sorts and topic.split(".")[1] == kind.name]

    def _write_all(self, kind):
        about = self.clients.get(kind).about
        for codec in CODECS:
            name = f"{kind.name}_writes_{codec}"
            if codec not in about["codecs"]:
                self.report.run(name, self._skip, f"{about['name']} has no {codec} here")
                continue
            self.report.run(name, self._write, kind, codec, False)
            self.report.run(f"{name}_to_a_compacted_topic", self._write_compacted, kind, codec)
        if about["idempotent"]:
            self.report.run(f"{kind.name}_writes_idempotently", self._write, kind, "lz4", True)
        else:
            self.report.run(f"{kind.name}_writes_idempotently", self._skip,
                            f"{about['name']} has no idempotent producer")
        self.report.run(f"{kind.name}_writes_what_will_be_dropped_at_the_end",
                        self._write_shortened, kind)

    @staticmethod
    def _skip(reason):
        raise Skip(reason)

    def _produce(self, kind, topic, codec, idempotent, records):
        offsets = self.clients.get(kind).ask(
            "produce", topic=topic, codec=codec, idempotent=idempotent, records=records)["offsets"]
        self.written[topic] = records
        if offsets is not None:
            expect_equal(offsets, list(range(len(records))), "acknowledged offsets")

    def _write(self, kind, codec, idempotent):
        topic = f"plain.{kind.name}.{codec}{'.idempotent' if idempotent else ''}"
        self.broker.create_topic(topic)
        client = self.clients.get(kind)
        self._produce(kind, topic, codec, idempotent, all_kinds_of_records(client.about))
        stored = segments.read(self.broker.partition_folder(topic))
        expect_equal({batch.codec for batch in stored}, {codec}, "codecs of the stored batches")
        expect_equal(sum(batch.record_count for batch in stored), len(self.written[topic]),
                     "stored records")
        if idempotent:
            self._check_sequences(stored)

    @staticmethod
    def _check_sequences(stored):
        following = {}
        for batch in stored:
            assert batch.producer_id >= 0, f"no producer id: {batch}"
            expect_equal(batch.base_sequence, following.get(batch.producer_id, 0), "sequence")
            following[batch.producer_id] = batch.base_sequence + batch.record_count

    def _write_compacted(self, kind, codec):
        topic = f"compacted.{kind.name}.{codec}"
        # Segments so small that whole ones are dropped, and that some end in a gap.
        self.broker.create_topic(topic, compacted(**{"segment.bytes": 4096}))
        self._produce(kind, topic, codec, False,
                      overwriting_records(self.clients.get(kind).about))

    def _write_shortened(self, kind):
        topic = f"shortened.{kind.name}.gzip"
        self.broker.create_topic(topic, compacted(**{"delete.retention.ms": 0}))
        self._produce(kind, topic, "gzip", False,
                      records_with_a_dropped_end(self.clients.get(kind).about))
        self.tombstones_go.add(topic)

    def survivors(self, topic):
        """[(offset, record)] that compaction leaves."""
        last = {record[0]: offset for offset, record in enumerate(self.written[topic])}
        return [(offset, record) for offset, record in enumerate(self.written[topic])
                if last[record[0]] == offset
                and not (topic in self.tombstones_go and record[1] is None)]

    def _wait_for_compaction(self, topic):
        wanted = len(self.survivors(topic))
        folder = self.broker.partition_folder(topic)
        try:
            wait_until(lambda: segments.record_count(folder) == wanted, topic, 20)
        except AssertionError:
            expect_equal(segments.record_count(folder), wanted, "records after compaction")
        segments.read(folder)

    def _read_plain(self, reader):
        for writer in self.here:
            for topic in self._topics(writer, "plain"):
                self.report.run(f"{reader.name}_reads_{topic}", self._check_plain, reader, topic)

    def _read_compacted(self, reader):
        for writer in self.here:
            for topic in self._topics(writer, "compacted", "shortened"):
                self.report.run(f"{reader.name}_reads_{topic}", self._check_compacted, reader,
                                topic)

    def _check_plain(self, reader, topic):
        wanted = list(enumerate(self.written[topic]))
        got = self._read(reader, topic, wanted, offset=0)
        if topic.endswith(CLOSELY):
            self._read(reader, topic, wanted[13:], offset=13)
            self._check_times(reader, topic, got)

    def _check_compacted(self, reader, topic):
        wanted = self.survivors(topic)
        got = self._read(reader, topic, wanted, offset=0)
        if not topic.endswith(CLOSELY):
            return
        in_a_gap = next(offset for offset in range(1, len(self.written[topic]))
                        if offset not in dict(wanted))
        self._read(reader, topic, [w for w in wanted if w[0] >= in_a_gap], offset=in_a_gap)
        self._check_times(reader, topic, got)

    def _read(self, reader, topic, wanted, **start):
        answer = self.clients.get(reader).ask("consume", topic=topic, **start)
        got = answer["records"]
        expect_equal([[offset, key, value, headers] for offset, _, key, value, headers in got],
                     [[offset, key, value, headers] for offset, (key, value, headers, _) in wanted],
                     f"records of {topic} from {start}")
        for (_, timestamp, *_), (offset, record) in zip(got, wanted):
            if record[3] is not None:
                expect_equal(timestamp, record[3], f"timestamp of offset {offset}")
        if answer["position"] is not None:
            expect_equal(answer["position"], len(self.written[topic]), "position at the end")
            expect_equal(answer["high_watermark"], len(self.written[topic]), "high watermark")
        return got

    def _check_times(self, reader, topic, got):
        """The first record, in the order of offsets, that is not older."""
        times = sorted({record[1] for record in got})
        asked = [times[0] - 1, times[0], times[len(times) // 2], times[-1], times[-1] + 1]
        wanted = [next((record[0] for record in got if record[1] >= at), -1) for at in asked]
        found = self.clients.get(reader).ask("lookup", topic=topic, timestamps=asked)["offsets"]
        expect_equal(found, wanted, f"offsets for the times {json.dumps(asked)}")
        middle = times[len(times) // 2]
        first = wanted[2]
        answer = self.clients.get(reader).ask("consume", topic=topic, timestamp=middle)
        expect_equal([record[0] for record in answer["records"]],
                     [record[0] for record in got if record[0] >= first], "read from a time on")

    # What one topic each is enough for

    def _write_special_topics(self):
        self.broker.create_topic(LARGE, {"max.message.bytes": 2 << 20})
        with self.broker.connect() as connection:
            for _ in range(2):
                answer = connection.produce(LARGE, batches.batch([(b"k", b"v" * 900_000)]))
                expect_equal(answer["error_code"], 0, "error of a produce")

    def _check_special_topics(self, kind):
        self.report.run(f"{kind.name}_reads_records_larger_than_its_limits", self._read_large, kind)
        name = f"{kind.name}_goes_on_when_a_topic_is_deleted_and_made_again"
        if self.clients.get(kind).about["follows"]:
            self.report.run(name, self._follow, kind)
        else:
            self.report.run(name, self._skip, f"{kind.name} ends with each step")

    def _read_large(self, kind):
        records = self.clients.get(kind).ask("consume", topic=LARGE, offset=0,
                                             fetch_bytes=1)["records"]
        expect_equal([(record[0], len(to_bytes(record[3]))) for record in records],
                     [(0, 900_000), (1, 900_000)], "offsets and sizes")

    def _follow(self, kind):
        """Through one producer and one consumer; the topic has another id the second time."""
        topic = f"again.{kind.name}"
        client = self.clients.get(kind)
        before = self.broker.create_topic(topic)
        for number in range(5):
            client.ask("follow", topic=topic, value=f"old {number}")
        self.broker.delete_topic(topic)
        after = self.broker.create_topic(topic)
        assert before != after, "the same id again"
        for number in range(3):
            client.ask("follow", topic=topic, value=f"new {number}")
