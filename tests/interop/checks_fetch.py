# SPDX-License-Identifier: Apache-2.0
"""Fetch, and offsets by time: see wire_checks.py."""
import struct
import threading
import time
import uuid

import batches
from report import expect_equal
from wire import APIS, fetch_body
from wire_checks import WireChecks

ERROR_CODES_OF_A_FETCH = {0, 1, 3, 6, 9, 29, 56, 74, 75, 78, 100, 103, -1}


class FetchChecks(WireChecks):
    # Fetch

    def check_null_records_in_an_empty_fetch(self):
        topic = self.topic("empty")
        for version in range(4, 13):
            with self.broker.connect() as connection:
                answer = connection.fetch(topic, 0, version, max_wait_ms=0)
                expect_equal(answer["records"], b"", f"records of Fetch {version}")
                beyond = connection.fetch(topic, 99, version, max_wait_ms=0)
                expect_equal((beyond["error_code"], beyond["records"]), (1, b""),
                             f"out of range in Fetch {version}")

    def check_fetch_with_nothing_to_return_is_answered_at_max_wait(self):
        topic = self.topic("waits")
        with self.broker.connect() as connection:
            began = time.monotonic()
            connection.fetch(topic, 0, max_wait_ms=500)
            took = time.monotonic() - began
        assert 0.45 <= took <= 3, f"answered after {took:.3f} s, max_wait_ms was 500"

    def check_min_bytes_0_is_answered_at_once(self):
        topic = self.topic("no-min")
        with self.broker.connect() as connection:
            began = time.monotonic()
            connection.fetch(topic, 0, max_wait_ms=10000, min_bytes=0)
        assert time.monotonic() - began < 5, "waited"

    def check_waiting_fetch_is_woken_by_a_record(self):
        topic = self.topic("woken")
        with self.broker.connect() as connection:
            sent = connection.send("Fetch", 11, fetch_body(topic, 0, max_wait_ms=12000))
            produce = threading.Timer(0.3, self.produce_one, [topic])
            produce.start()
            began = time.monotonic()
            answer = connection.receive("Fetch", 11, sent)
            produce.join()
        assert answer["responses"][0]["partitions"][0]["records"], "woken without a record"
        took = time.monotonic() - began
        assert 0.2 < took < 8, f"woken after {took:.1f} s"

    def check_min_bytes_keeps_a_fetch_waiting(self):
        topic = self.topic("min-bytes")
        self.produce_one(topic)
        with self.broker.connect() as connection:
            began = time.monotonic()
            answer = connection.fetch(topic, 0, max_wait_ms=400, min_bytes=100000)
            took = time.monotonic() - began
        assert took > 0.35 and answer["records"], f"answered after {took:.3f} s: {answer}"

    def check_fetch_that_can_get_no_more_does_not_wait(self):
        topic = self.topic("full")
        self.produce_one(topic, payload=batches.record(b"k", b"v" * 5000))
        with self.broker.connect() as connection:
            began = time.monotonic()
            connection.fetch(topic, 0, max_wait_ms=10000, min_bytes=1 << 20,
                             partition_max_bytes=1000)
        assert time.monotonic() - began < 5, "waited though the partition's limit was reached"

    def check_batch_larger_than_the_limits_is_returned_whole(self):
        topic = self.topic("larger", {"max.message.bytes": 2 << 20}, partitions=2)
        records = batches.batch([(b"k", b"v" * 900_000)])
        with self.broker.connect() as connection:
            for partition in (0, 1):
                connection.produce(topic, records, partition=partition)
            one = {"fetch_offset": 0, "partition_max_bytes": 1}
            answer = connection.request("Fetch", 11, {
                "max_wait_ms": 100, "min_bytes": 1, "max_bytes": 1, "topics": [{
                    "topic": topic, "partitions": [{"partition": 0, **one},
                                                   {"partition": 1, **one}]}]})
        got = [len(p["records"]) for p in answer["responses"][0]["partitions"]]
        expect_equal(got, [len(records), 0], "bytes of the partitions")

    def check_fetch_inside_a_batch_returns_that_batch(self):
        topic = self.topic("inside")
        with self.broker.connect() as connection:
            connection.produce(topic, batches.batch([(b"k%d" % n, b"v") for n in range(10)]))
            got = connection.fetch(topic, 7)["records"]
        expect_equal(struct.unpack_from(">q", got)[0], 0, "base offset of what was read from 7 on")

    def check_every_partition_that_was_asked_for_is_listed(self):
        topic = self.topic("listed-all", partitions=5)
        self.produce_one(topic, partition=3)
        for version in (7, 12):
            body = {"max_wait_ms": 100, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": 0,
                    "topics": [{"topic": topic, "partitions": [
                        {"partition": n, "fetch_offset": 0, "partition_max_bytes": 1000}
                        for n in range(6)]}]}
            with self.broker.connect() as connection:
                answer = connection.request("Fetch", version, body)
            expect_equal((answer["error_code"], answer["session_id"]), (0, 0), "session")
            got = {p["partition_index"]: p["error_code"]
                   for p in answer["responses"][0]["partitions"]}
            expect_equal(got, {0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 3}, f"Fetch {version}")

    def check_fetch_of_a_session_that_is_not_there_is_told_so(self):
        topic = self.topic("session")
        with self.broker.connect() as connection:
            answer = connection.request("Fetch", 12, fetch_body(
                topic, 0, session_id=7, session_epoch=3))
        expect_equal((answer["error_code"], answer["session_id"], answer["responses"]), (70, 0, []),
                     "answer")

    def check_only_errors_that_the_java_consumer_knows_come_from_a_fetch(self):
        topic = self.topic("known-errors")
        tries = [(topic, -5, 0), (topic, 10**9, 0), (topic, 0, 99), (topic, 0, -1),
                 ("nobody", 0, 0), ("", 0, 0), ("bad name!", 0, 0)]
        for version in range(4, 13):
            for name, offset, partition in tries:
                with self.broker.connect() as connection:
                    code = connection.fetch(name, offset, version, partition)["error_code"]
                assert code in ERROR_CODES_OF_A_FETCH and code != 0, \
                    f"Fetch {version} of {name!r} {partition} from {offset}: error {code}"
        with self.broker.connect() as connection:
            expect_equal(connection.fetch(uuid.uuid4(), 0, 13)["error_code"], 100, "unknown id")

    def check_fetch_that_waits_on_a_deleted_topic_ends(self):
        topic = self.topic("goes-away")
        with self.broker.connect() as connection:
            sent = connection.send("Fetch", 11, fetch_body(topic, 0, max_wait_ms=12000))
            began = time.monotonic()
            self.broker.delete_topic(topic)
            answer = connection.receive("Fetch", 11, sent)
        expect_equal(answer["responses"][0]["partitions"][0]["error_code"], 3, "error code")
        assert time.monotonic() - began < 8, "waited to the end"

    def check_leader_epochs_of_another_time_are_refused(self):
        topic = self.topic("epochs")
        epoch = self.metadata(9, [{"name": topic}])["topics"][0]["partitions"][0]["leader_epoch"]
        for given, code in ((epoch, 0), (epoch + 1, 75)):
            body = fetch_body(topic, 0)
            body["topics"][0]["partitions"][0]["current_leader_epoch"] = given
            with self.broker.connect() as connection:
                answer = connection.request("Fetch", 11, body)
            got = answer["responses"][0]["partitions"][0]["error_code"]
            expect_equal(got, code, f"error for epoch {given} at {epoch}")

    def check_last_stable_offset_is_a_number_without_transactions(self):
        topic = self.topic("stable")
        self.produce_one(topic)
        with self.broker.connect() as connection:
            for isolation in (0, 1):
                got = connection.fetch(topic, 0, isolation_level=isolation)
                expect_equal((got["high_watermark"], got["last_stable_offset"]), (1, 1), "offsets")
                assert not got["aborted_transactions"], got

    # Offsets by time

    def check_time_past_the_end_finds_nothing_and_is_no_error(self):
        topic = self.topic("past-the-end")
        self.produce_one(topic)
        for version in range(1, 12):
            with self.broker.connect() as connection:
                expect_equal(connection.list_offset(topic, 10**15, version=version), -1, "offset")

    def check_time_lookup_finds_the_record_inside_a_batch(self):
        topic = self.topic("by-time", {"retention.ms": -1})
        records = [(b"k%d" % n, b"v", 1000 + 10 * n) for n in range(20)]
        with self.broker.connect() as connection:
            connection.produce(topic, batches.batch(records))
            packed = batches.plain_snappy(b"".join(
                batches.record(b"k", b"v", n, 10 * n) for n in range(20)))
            connection.produce(topic, batches.batch(
                [(b"", b"", 2000 + 10 * n) for n in range(20)], attributes=2, payload=packed))
            for time_, offset in ((1000, 0), (1075, 8), (1190, 19), (1191, 20), (2051, 26)):
                expect_equal(connection.list_offset(topic, time_), offset, f"offset for {time_}")
            expect_equal(connection.list_offset(topic, -3), 39, "offset of the largest time")

    def check_list_offsets_0_is_not_offered(self):
        expect_equal(self.ranges()[APIS["ListOffsets"].key][0], 1, "lowest ListOffsets version")
        key = APIS["ListOffsets"].key
        self.expect_closed(struct.pack(">ihhih", 10, key, 0, 1, -1), "ListOffsets 0")

    def check_special_times_belong_to_versions(self):
        topic = self.topic("sentinels")
        self.produce_one(topic)
        wanted = {-1: (1, 1), -2: (1, 0), -3: (7, 0), -4: (8, 0), -5: (9, -1), -6: (11, -1)}
        for timestamp, (first, offset) in wanted.items():
            for version in range(1, 12):
                body = {"replica_id": -1, "topics": [{"name": topic, "partitions": [
                    {"partition_index": 0, "timestamp": timestamp}]}]}
                with self.broker.connect() as connection:
                    answer = connection.request("ListOffsets", version, body)
                got = answer["topics"][0]["partitions"][0]
                expect_equal((got["error_code"], got["offset"]),
                             (0, offset) if version >= first else (35, -1),
                             f"timestamp {timestamp} in ListOffsets {version}")
