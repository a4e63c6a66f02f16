# SPDX-License-Identifier: Apache-2.0
"""Topics, their settings, and Produce: see wire_checks.py."""
import struct
import time
import uuid

import batches
import segments
from report import expect_equal, wait_until
from wire import frame, produce_body
from wire_checks import WireChecks



class ProduceChecks(WireChecks):
    # Topics and their settings

    def check_counts_of_minus_one_mean_the_default(self):
        made = self.create(name="default-counts", num_partitions=-1, replication_factor=-1)
        expect_equal((made["error_code"], made["num_partitions"], made["replication_factor"]),
                     (0, 1, 1), "made")

    def check_three_replicas_are_refused_not_rounded(self):
        for replicas in (3, 0, -2):
            made = self.create(name=f"r{replicas}", num_partitions=1, replication_factor=replicas)
            expect_equal(made["error_code"], 38, f"replication factor {replicas}")

    def check_bad_topics_are_refused_with_a_reason(self):
        self.topic("taken.name")
        for name, code in ((".", 17), ("a b", 17), ("", 17), ("x" * 250, 17), ("taken.name", 36),
                           ("taken_name", 17)):
            made = self.create(name=name, num_partitions=1, replication_factor=1)
            expect_equal(made["error_code"], code, f"topic {name[:20]!r}")
            assert made["error_message"], f"no reason for {name[:20]!r}"
        made = self.create(name="bad-setting", num_partitions=1, replication_factor=1,
                           configs=[{"name": "cleanup.polcy", "value": "compact"}])
        expect_equal(made["error_code"], 40, "unknown setting")

    def check_validate_only_creates_nothing(self):
        with self.broker.connect() as connection:
            answer = connection.request("CreateTopics", 7, {"validate_only": True, "topics": [
                {"name": "only-looked-at", "num_partitions": 1, "replication_factor": 1}]})
        expect_equal(answer["topics"][0]["error_code"], 0, "error code")
        expect_equal(self.metadata(9, [{"name": "only-looked-at"}])["topics"][0]["error_code"], 3,
                     "afterwards")

    def check_settings_of_a_topic_show_who_set_them(self):
        topic = self.topic("sources", {"cleanup.policy": "compact"})
        with self.broker.connect() as connection:
            answer = connection.request("DescribeConfigs", 4, {
                "resources": [{"resource_type": 2, "resource_name": topic}]})
        configs = {c["name"]: c for c in answer["results"][0]["configs"]}
        own = configs["cleanup.policy"]
        expect_equal((own["value"], own["config_source"]), ("compact", 1), "its own setting")
        assert configs["retention.ms"]["config_source"] != 1, configs["retention.ms"]

    def check_delete_topic_wants_a_name_or_an_id(self):
        topic = self.topic("by-id")
        with self.broker.connect() as connection:
            answer = connection.request("DeleteTopics", 6, {"topics": [
                {"name": None, "topic_id": self.topic_id}, {"name": "nobody"},
                {"name": None, "topic_id": uuid.uuid4()}]})
        got = [(r["name"], r["error_code"]) for r in answer["responses"]]
        expect_equal(got, [(topic, 0), ("nobody", 3), (None, 100)], "answers")

    # Produce

    def check_acks_0_is_not_answered(self):
        topic = self.topic("acks-0")
        with self.broker.connect() as connection:
            connection.send("Produce", 9, produce_body(
                topic, batches.batch([(b"k", b"v")]), acks=0))
            connection.request("Metadata", 12, {})  # the next answer is for this one
            wait_until(lambda: self.broker.high_watermark(topic) == 1, "the record is there")

    def check_acks_0_that_fails_closes_the_connection(self):
        self.expect_closed(frame("Produce", 9, produce_body(
            "nobody", batches.batch([(b"k", b"v")]), acks=0)), "acks=0 to no topic")

    def check_acks_2_is_refused(self):
        topic = self.topic("acks-2")
        with self.broker.connect() as connection:
            answer = connection.produce(topic, batches.batch([(b"k", b"v")]), acks=2)
        expect_equal((answer["error_code"], answer["base_offset"]), (21, -1), "answer")

    def check_errors_come_in_the_version_of_the_request(self):
        for version in range(3, 13):
            with self.broker.connect() as connection:
                answer = connection.produce("nobody", batches.batch([(b"k", b"v")]), version)
            expect_equal(answer["error_code"], 3, f"error of Produce {version}")

    def check_bad_batches_are_refused(self):
        topic = self.topic("bad-batches")
        good = batches.batch([(b"k", b"v"), (b"l", b"w")])
        flipped = good[:-1] + bytes([good[-1] ^ 1])
        wrong = {
            "null records": (None, 87), "no bytes": (b"", 87), "two batches": (good + good, 87),
            "flipped bit": (flipped, 2), "shorter than its header": (good[:40], 2),
            "magic 1": (batches.batch([(b"k", b"v")], magic=1), 87),
            "control": (batches.batch([(b"k", b"v")], attributes=0x30, producer_id=1,
                                      producer_epoch=0, base_sequence=0), 87),
            "record count": (batches.batch([(b"k", b"v")], record_count=2), 87),
            "last offset delta": (batches.batch([(b"k", b"v")], last_offset_delta=5), 87),
            "delete horizon": (batches.batch([(b"k", b"v")], attributes=0x40), 87),
            "id without sequence": (batches.batch([(b"k", b"v")], producer_id=7,
                                                  producer_epoch=0), 87),
            "far ahead": (batches.batch([(b"k", b"v", (int(time.time()) + 90000) * 1000)]), 32),
            "poison": (batches.batch([(b"k", b"v")], payload=b"\x7f\x00\x01garbage"), 87),
        }
        for what, (records, code) in wrong.items():
            with self.broker.connect() as connection:
                answer = connection.produce(topic, records)
            expect_equal((answer["error_code"], answer["base_offset"]), (code, -1), what)
        expect_equal(self.broker.high_watermark(topic), 0, "high watermark")

    def check_codecs_that_do_not_exist_are_refused(self):
        topic = self.topic("codecs")
        for codec in (5, 6, 7):
            with self.broker.connect() as connection:
                answer = connection.produce(topic, batches.batch([(b"k", b"v")], attributes=codec))
            assert answer["error_code"] in (76, 87), answer
        with self.broker.connect() as connection:  # zstd is only for Produce 7 and above
            answer = connection.produce(topic, batches.batch([(b"k", b"v")], attributes=4), 6)
        expect_equal(answer["error_code"], 76, "zstd in Produce 6")

    def check_null_key_in_a_compacted_topic_is_named(self):
        topic = self.topic("null-key", {"cleanup.policy": "compact"})
        with self.broker.connect() as connection:
            answer = connection.produce(topic, batches.batch(
                [(b"a", b"1"), (None, b"2"), (b"c", b"3"), (None, b"4")]))
        expect_equal(answer["error_code"], 87, "error code")
        expect_equal([e["batch_index"] for e in answer["record_errors"]], [1, 3], "bad records")
        expect_equal(self.broker.high_watermark(topic), 0, "high watermark")

    def check_too_large_a_batch_is_told_so_that_clients_split_it(self):
        topic = self.topic("large", {"max.message.bytes": 1000})
        with self.broker.connect() as connection:
            answer = connection.produce(topic, batches.batch([(b"k", b"v" * 2000)]))
        expect_equal(answer["error_code"], 10, "error code")

    def check_one_bad_partition_does_not_stop_the_others(self):
        topic = self.topic("independent", partitions=2)
        good, bad = batches.batch([(b"k", b"v")]), batches.batch([(b"k", b"v")], record_count=9)
        with self.broker.connect() as connection:
            answer = connection.request("Produce", 9, {
                "acks": -1, "timeout_ms": 1000, "topic_data": [{
                    "name": topic, "partition_data": [{"index": 0, "records": bad},
                                                      {"index": 1, "records": good},
                                                      {"index": 9, "records": good}]}]})
        got = {p["index"]: p["error_code"] for p in answer["responses"][0]["partition_responses"]}
        expect_equal(got, {0: 87, 1: 0, 9: 3}, "errors")

    def check_snappy_header_with_other_version_numbers_is_accepted(self):
        topic = self.topic("snappy")
        plain = batches.record(b"k", b"v" * 100)
        block = batches.plain_snappy(plain)
        for versions in ((1, 1), (5, 9), (0, 0)):
            framed = b"\x82SNAPPY\0" + struct.pack(">ii", *versions)
            framed += struct.pack(">i", len(block)) + block
            with self.broker.connect() as connection:
                answer = connection.produce(topic, batches.batch(
                    [(b"k", b"")], attributes=2, payload=framed))
                expect_equal(answer["error_code"], 0, f"versions {versions}")
                got = connection.fetch(topic, answer["base_offset"])["records"]
            assert got.endswith(framed), "not stored as it came"

    def check_wrong_max_timestamp_is_mended(self):
        topic = self.topic("max-timestamp")
        now = int(time.time()) * 1000
        with self.broker.connect() as connection:
            answer = connection.produce(topic, batches.batch(
                [(b"a", b"1", now - 5000), (b"b", b"2", now - 1000)], max_timestamp=now - 5000))
            expect_equal(answer["error_code"], 0, "error code")
            expect_equal(connection.list_offset(topic, now - 2000), 1, "found by time")
        stored = segments.read(self.broker.partition_folder(topic))[0]
        expect_equal(stored.max_timestamp, now - 1000, "stored max timestamp")

    def check_retried_batches_are_known_five_back(self):
        topic = self.topic("five")
        send, producer = self.idempotent(topic)
        for number in range(6):
            expect_equal(send(number), (0, number), f"batch {number}")
        for number in range(5, 0, -1):
            expect_equal(send(number), (0, number), f"batch {number} again")
        code, offset = send(0)
        assert (code, offset) != (0, 6), "a batch six back was stored twice"
        expect_equal(self.broker.high_watermark(topic), 6, "high watermark")
        expect_equal(send(9)[0], 45, "a gap")
        with self.broker.connect() as connection:
            other = connection.request("InitProducerId", 4, {})
        assert other["producer_id"] != producer, "the same producer id twice"

    def idempotent(self, topic):
        with self.broker.connect() as connection:
            answer = connection.request("InitProducerId", 4, {})
        expect_equal((answer["error_code"], answer["producer_epoch"]), (0, 0), "InitProducerId")

        def send(sequence, epoch=0, producer_id=answer["producer_id"], timestamp=1000):
            records = batches.batch([(b"k", b"v", timestamp)], producer_id=producer_id,
                                    producer_epoch=epoch, base_sequence=sequence)
            with self.broker.connect() as connection:
                got = connection.produce(topic, records)
            return got["error_code"], got["base_offset"]

        return send, answer["producer_id"]

    def check_unknown_producer_may_start_anywhere_and_epochs_rise(self):
        send, producer = self.idempotent(self.topic("unknown-producer"))
        expect_equal(send(41), (0, 0), "any first sequence")
        expect_equal(send(0, epoch=1), (0, 1), "higher epoch, sequence 0")
        expect_equal(send(42)[0], 47, "lower epoch")
        expect_equal(send(5, epoch=2)[0], 45, "higher epoch, another sequence")
        expect_equal(send(2**31 - 1, producer_id=producer + 500), (0, 2), "last sequence")
        expect_equal(send(0, producer_id=producer + 500), (0, 3), "sequences wrap")

    def check_old_record_times_do_not_expire_a_producer(self):
        topic = self.topic("old-times", {"retention.ms": -1})
        send, _ = self.idempotent(topic)
        expect_equal(send(0, timestamp=1000), (0, 0), "first")
        expect_equal(send(0, timestamp=1000), (0, 0), "again")
        expect_equal(send(1, timestamp=1000), (0, 1), "next")

    def check_transactional_id_is_refused_clearly(self):
        with self.broker.connect() as connection:
            answer = connection.request("InitProducerId", 4, {"transactional_id": "t"})
            assert answer["error_code"] != 0, "transactions are not served yet"
            answer = connection.request("InitProducerId", 4, {"transactional_id": ""})
            expect_equal(answer["error_code"], 42, "empty transactional id")
