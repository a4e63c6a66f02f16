# SPDX-License-Identifier: Apache-2.0
"""What broke other brokers or their clients, each named by its symptom; over a plain socket."""
import struct
import subprocess
import threading
import time
import uuid

import batches
import segments
from broker import PROGRAMS, Broker
from report import expect_equal, wait_until
from wire import APIS, Connection, decode, fetch_body, frame, produce_body

PRODUCE, FETCH, LIST_OFFSETS, METADATA = (APIS[n].key for n in (
    "Produce", "Fetch", "ListOffsets", "Metadata"))
ERROR_CODES_OF_A_FETCH = {0, 1, 3, 6, 9, 29, 56, 74, 75, 78, 100, 103, -1}
CLIENT = {"client_software_name": "interop", "client_software_version": "1.0"}
NO_ID = uuid.UUID(int=0)
TLS_HELLO = bytes.fromhex("16030100a5010000a10303") + bytes(160)


class WireChecks:
    def __init__(self, report):
        self.report = report

    def run(self):
        with Broker() as self.broker:
            for name in sorted(vars(type(self))):
                if name.startswith("check_"):
                    self.report.run(name[len("check_"):], getattr(self, name))

    # Helpers

    def topic(self, name, configs=None, partitions=1):
        self.topic_id = self.broker.create_topic(name, configs, partitions)
        return name

    def expect_closed(self, data, what):
        """The broker closes the connection without an answer, and goes on serving others."""
        with self.broker.connect() as connection:
            connection.send_bytes(data)
            assert connection.is_closed(), f"{what}: the connection was not closed"
        with self.broker.connect() as connection:
            connection.request("Metadata", 1, {"topics": []})

    def ranges(self):
        with self.broker.connect() as connection:
            answer = connection.request("ApiVersions", 3, CLIENT)
        return {k["api_key"]: (k["min_version"], k["max_version"]) for k in answer["api_keys"]}

    def create(self, version=7, **topic):
        with self.broker.connect() as connection:
            answer = connection.request("CreateTopics", version, {"topics": [topic]})
        return answer["topics"][0]

    def metadata(self, version=12, topics=None):
        with self.broker.connect() as connection:
            return connection.request("Metadata", version, {"topics": topics})

    # Framing and versions

    def check_oversize_frame_is_closed_unread(self):
        self.expect_closed(struct.pack(">i", 2**31 - 1), "size 2^31-1")

    def check_negative_size_is_closed(self):
        self.expect_closed(struct.pack(">i", -5), "size -5")

    def check_frame_of_no_bytes_is_closed(self):
        self.expect_closed(struct.pack(">i", 0), "size 0")

    def check_tls_hello_is_closed(self):
        self.expect_closed(TLS_HELLO, "TLS hello")

    def check_http_request_is_closed(self):
        self.expect_closed(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP")

    def check_unknown_api_is_closed(self):
        self.expect_closed(struct.pack(">ihhih", 10, 999, 0, 1, -1), "API 999")

    def check_produce_2_is_advertised_but_closed(self):
        expect_equal(self.ranges()[PRODUCE][0], 0, "lowest Produce version")
        self.expect_closed(struct.pack(">ihhih", 10, PRODUCE, 2, 1, -1), "Produce 2")

    def check_version_that_is_not_offered_is_closed(self):
        for key, (_, last) in self.ranges().items():
            if key != APIS["ApiVersions"].key:
                data = struct.pack(">hhih", key, last + 1, 1, -1) + b"\0"
                self.expect_closed(struct.pack(">i", len(data)) + data, f"API {key} v{last + 1}")

    def check_request_cut_short_is_closed(self):
        whole = frame("Metadata", 12, {"topics": None})[4:]
        self.expect_closed(struct.pack(">i", len(whole) - 4) + whole[:-4], "short Metadata")

    def check_half_a_frame_and_gone_hurts_nobody(self):
        with self.broker.connect() as connection:
            connection.send_bytes(frame("Metadata", 12, {"topics": None})[:-3])
        self.metadata()

    def check_every_version_of_every_api_is_laid_out_exactly(self):
        topic = self.topic("exact")
        self.produce_one(topic)
        bodies = {
            "Produce": lambda v: produce_body(topic, batches.batch([(b"k", b"v")])),
            "Fetch": lambda v: fetch_body(self.topic_id if v >= 13 else topic, 0),
            "ListOffsets": lambda v: {"replica_id": -1, "topics": [{"name": topic, "partitions": [
                {"partition_index": 0, "timestamp": -1}]}]},
            "Metadata": lambda v: {"topics": [{"name": topic}]},
            "FindCoordinator": lambda v: {"key": "g"} if v < 4 else {"coordinator_keys": ["g"]},
            "ApiVersions": lambda v: CLIENT if v >= 3 else {},
            "CreateTopics": lambda v: {"topics": [{"name": f"exact-{v}", "num_partitions": 1,
                                                   "replication_factor": 1}]},
            "DeleteTopics": lambda v: {"topics": [{"name": f"exact-{v}"}]} if v >= 6 else
            {"topic_names": [f"exact-{v}"]},
            "InitProducerId": lambda v: {},
            "OffsetForLeaderEpoch": lambda v: {"topics": [{"topic": topic, "partitions": [
                {"partition": 0, "leader_epoch": 0}]}]},
            "DescribeConfigs": lambda v: {"resources": [
                {"resource_type": 2, "resource_name": topic}], "include_synonyms": True},
        }
        ranges = self.ranges()
        with self.broker.connect() as connection:
            for name, body in bodies.items():
                first, last = ranges[APIS[name].key]
                for version in range(3 if name == "Produce" else first, last + 1):
                    try:
                        connection.request(name, version, body(version))
                    except Exception as error:
                        raise AssertionError(f"{name} v{version}: {error!r}") from error

    def produce_one(self, topic, **changes):
        with self.broker.connect() as connection:
            answer = connection.produce(topic, batches.batch([(b"k", b"v")], **changes))
        expect_equal(answer["error_code"], 0, "error of a produce")
        return answer["base_offset"]

    def check_null_client_id_is_served(self):
        with self.broker.connect() as connection:
            connection.request("Metadata", 12, {"topics": None}, client_id=None)
            connection.request("Metadata", 1, {"topics": None}, client_id=None)

    def check_answers_come_in_order_of_100_pipelined_requests(self):
        topic = self.topic("order")
        with self.broker.connect() as connection:
            sent = []
            for number in range(100):
                if number % 3 == 0:
                    body = fetch_body(topic, 1000 + number, max_wait_ms=5)
                    sent.append(("Fetch", 11, connection.send("Fetch", 11, body)))
                elif number % 3 == 1:
                    body = produce_body(topic, batches.batch([(b"k", b"v")]))
                    sent.append(("Produce", 9, connection.send("Produce", 9, body)))
                else:
                    sent.append(("Metadata", 12, connection.send("Metadata", 12, {})))
            for api, version, correlation in sent:
                connection.receive(api, version, correlation)

    # ApiVersions

    def check_api_versions_99_is_answered_in_the_layout_of_0(self):
        with self.broker.connect() as connection:
            connection.send_bytes(frame("ApiVersions", 99, CLIENT, correlation=7))
            answer = decode(connection.receive_frame(), "ApiVersions", 0, 7)
            expect_equal(answer["error_code"], 35, "error code")
            expect_equal([k["api_key"] for k in answer["api_keys"]], [18], "keys")
            expect_equal(connection.request("ApiVersions", answer["api_keys"][0]["max_version"],
                                            CLIENT)["error_code"], 0, "second try")

    def check_api_versions_works_in_the_middle_of_a_connection(self):
        with self.broker.connect() as connection:
            connection.request("Metadata", 12, {})
            for version in (0, 1, 2, 3, 4, 0):
                answer = connection.request("ApiVersions", version, CLIENT if version >= 3 else {})
                expect_equal(answer["error_code"], 0, f"error of ApiVersions {version}")

    def check_api_versions_with_a_bad_client_name_is_told_so_in_its_own_version(self):
        with self.broker.connect() as connection:
            answer = connection.request("ApiVersions", 3, {
                "client_software_name": "-bad name-", "client_software_version": "1"})
        expect_equal(answer["error_code"], 42, "error code")

    def check_features_are_not_sent(self):
        for version in (3, 4):
            with self.broker.connect() as connection:
                answer = connection.request("ApiVersions", version, CLIENT)
            expect_equal((answer["supported_features"], answer["finalized_features"]), ([], []),
                         "features")

    def check_compression_is_not_silently_off(self):
        """What librdkafka wants to see before it compresses; see also the stored codecs."""
        ranges = self.ranges()
        expect_equal(ranges[PRODUCE][0], 0, "lowest Produce version")
        expect_equal(ranges[APIS["FindCoordinator"].key][0], 0, "lowest FindCoordinator version")
        assert ranges[PRODUCE][1] >= 7 and ranges[FETCH][1] >= 10, "zstd wants more"

    def check_fetch_12_that_some_clients_send_unasked_is_offered(self):
        assert self.ranges()[FETCH][1] >= 12

    def check_produce_13_is_not_offered_without_being_served(self):
        expect_equal(self.ranges()[PRODUCE], (0, 12), "Produce range")

    def check_nothing_half_done_is_offered(self):
        offered = set(self.ranges())
        not_here = {24, 25, 26, 27, 28, 68, 69, 71, 72}
        expect_equal(sorted(offered & not_here), [], "APIs that must not be advertised")

    def check_old_probe_of_api_versions_0_and_metadata_0_works_pipelined(self):
        topic = self.topic("probe")
        with self.broker.connect() as connection:
            first = connection.send("ApiVersions", 0, {})
            second = connection.send("Metadata", 0, {"topics": []})
            connection.receive("ApiVersions", 0, first)
            answer = connection.receive("Metadata", 0, second)
        assert topic in [t["name"] for t in answer["topics"]], "an empty list asks for all"

    # Metadata

    def check_metadata_1_tells_null_from_empty(self):
        self.topic("listed")
        for version in (1, 4, 9, 12):
            assert self.metadata(version, None)["topics"], f"v{version}: null is all"
            expect_equal(self.metadata(version, [])["topics"], [], f"v{version}: empty is none")

    def check_cluster_id_is_there_and_stays(self):
        before = self.metadata(2)["cluster_id"]
        assert before, "no cluster id"
        with Broker() as broker:
            with broker.connect() as connection:
                first = connection.request("Metadata", 2, {"topics": []})
            broker.stop()
            broker.start()
            with broker.connect() as connection:
                second = connection.request("Metadata", 2, {"topics": []})
        expect_equal(second["cluster_id"], first["cluster_id"], "cluster id after a restart")

    def check_topic_ids_are_there_where_fetch_wants_them(self):
        topic = self.topic("with-id")
        known = self.metadata(12, [{"name": topic}])["topics"][0]
        assert known["topic_id"] not in (NO_ID, uuid.UUID(int=1)), known
        by_id = self.metadata(12, [{"topic_id": known["topic_id"], "name": None}])["topics"][0]
        expect_equal((by_id["error_code"], by_id["name"]), (0, topic), "by id")
        unknown = self.metadata(12, [{"topic_id": uuid.uuid4(), "name": None}])["topics"][0]
        expect_equal((unknown["error_code"], unknown["name"]), (100, None), "unknown id")

    def check_recreated_topic_has_another_id_and_no_lower_epoch(self):
        topic = self.topic("again")
        before = self.metadata(12, [{"name": topic}])["topics"][0]
        self.broker.delete_topic(topic)
        gone = self.metadata(12, [{"name": topic}])["topics"][0]
        expect_equal(gone["error_code"], 3, "error right after the delete")
        self.topic(topic)
        after = self.metadata(12, [{"name": topic}])["topics"][0]
        assert before["topic_id"] != after["topic_id"], "the same id again"
        assert after["partitions"][0]["leader_epoch"] >= before["partitions"][0]["leader_epoch"]

    def check_unknown_topic_is_not_left_out_of_metadata(self):
        answer = self.metadata(9, [{"name": "nobody"}, {"name": "bad name!"}])
        expect_equal({t["name"]: t["error_code"] for t in answer["topics"]},
                     {"nobody": 3, "bad name!": 17}, "errors")

    def check_auto_created_topic_can_be_used_at_once(self):
        with Broker({"auto_create_topics": True}) as broker, broker.connect() as connection:
            answer = connection.request("Metadata", 4, {"topics": [{"name": "made"}]})
            topic = answer["topics"][0]
            expect_equal((topic["error_code"], len(topic["partitions"])), (0, 1), "made")
            expect_equal(connection.produce("made", batches.batch([(b"k", b"v")]))["error_code"], 0,
                         "error of a produce")
            answer = connection.request("Metadata", 4, {
                "topics": [{"name": "unwanted"}], "allow_auto_topic_creation": False})
            expect_equal(answer["topics"][0]["error_code"], 3, "creation was not allowed")

    def check_wildcard_listener_does_not_advertise_the_wildcard(self):
        with Broker(listen="0.0.0.0:0") as broker, broker.connect() as connection:
            answer = connection.request("Metadata", 12, {"topics": []})
        expect_equal([b["host"] for b in answer["brokers"]], ["127.0.0.1"], "advertised hosts")
        done = subprocess.run(
            [PROGRAMS / "lastwordd", "--config", "/dev/stdin", "--check-config"],
            input='{"advertise": "0.0.0.0:9092"}', capture_output=True, text=True, check=False)
        assert done.returncode == 2 and "advertise" in done.stderr, done

    def check_find_coordinator_repeats_the_advertised_address(self):
        node = self.metadata()["brokers"][0]
        with self.broker.connect() as connection:
            answer = connection.request("FindCoordinator", 2, {"key": "some-group"})
        expect_equal((answer["error_code"], answer["node_id"], answer["host"], answer["port"]),
                     (0, node["node_id"], node["host"], node["port"]), "coordinator")

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
            answer = connection.request("Produce", 9, {"acks": -1, "timeout_ms": 1000, "topic_data": [
                {"name": topic, "partition_data": [{"index": 0, "records": bad},
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
        with Connection("127.0.0.1", self.broker.port) as connection:
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
        self.broker_produce(topic, 3)
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

    def broker_produce(self, topic, partition):
        with self.broker.connect() as connection:
            connection.produce(topic, batches.batch([(b"k", b"v")]), partition=partition)

    def check_fetch_of_a_session_that_is_not_there_is_told_so(self):
        topic = self.topic("session")
        with self.broker.connect() as connection:
            answer = connection.request("Fetch", 12, fetch_body(
                topic, 0, session_id=7, session_epoch=3))
        expect_equal((answer["error_code"], answer["session_id"], answer["responses"]), (70, 0, []),
                     "answer")

    def check_only_errors_that_the_java_consumer_knows_come_from_a_fetch(self):
        topic = self.topic("known-errors")
        tries = [(topic, -5, 0), (topic, 10**9, 0), (topic, 0, 99), (topic, 0, -1), ("nobody", 0, 0),
                 ("", 0, 0), ("bad name!", 0, 0)]
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
        expect_equal(self.ranges()[LIST_OFFSETS][0], 1, "lowest ListOffsets version")
        self.expect_closed(struct.pack(">ihhih", 10, LIST_OFFSETS, 0, 1, -1), "ListOffsets 0")

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
