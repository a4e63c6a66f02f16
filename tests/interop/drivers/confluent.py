# SPDX-License-Identifier: Apache-2.0
"""Steps through confluent-kafka, that is librdkafka: Debian's, and the newest one."""
import sys

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

import steps


class Driver:
    def __init__(self, address):
        self.address = address
        self.followers = {}

    def about(self):
        return {"name": f"confluent-kafka {confluent_kafka.__version__} with librdkafka "
                        f"{confluent_kafka.libversion()[0]}", "idempotent": True,
                "codecs": ["none", "gzip", "snappy", "lz4", "zstd"],
                "timestamps": True, "null_headers": True, "follows": True}

    def producer(self, codec="none", idempotent=False, batch_bytes=steps.BATCH_BYTES):
        return Producer({"bootstrap.servers": self.address, "compression.type": codec,
                         "enable.idempotence": idempotent, "linger.ms": 20, "acks": "all",
                         "batch.size": batch_bytes,
                         "message.timeout.ms": steps.DELIVERY_SECONDS * 1000,
                         "topic.metadata.refresh.interval.ms": 1000})

    def consumer(self, **options):
        return Consumer({"bootstrap.servers": self.address, "group.id": "not-used",
                         "enable.auto.commit": False, "enable.partition.eof": True,
                         "auto.offset.reset": "earliest", "fetch.wait.max.ms": 50,
                         "topic.metadata.refresh.interval.ms": 1000, **options})

    def produce(self, topic, codec, idempotent, records, batch_bytes=steps.BATCH_BYTES):
        producer = self.producer(codec, idempotent, batch_bytes)
        offsets = [None] * len(records)
        errors = []

        def send(index, item):
            key, value, headers, timestamp = steps.record_of(item)

            def delivered(error, message):
                if error is not None:
                    errors.append(str(error))
                else:
                    offsets[index] = message.offset()

            more = {} if timestamp is None else {"timestamp": timestamp}
            producer.produce(topic, key=key, value=value, headers=headers, partition=0,
                             on_delivery=delivered, **more)

        for index, item in enumerate(records):
            while True:
                try:
                    send(index, item)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
        left = producer.flush(steps.DELIVERY_SECONDS)
        if errors or left:
            raise RuntimeError(f"{len(errors)} failed, {left} left: {errors[:1]}")
        return {"offsets": offsets}

    def consume(self, topic, offset=None, timestamp=None, fetch_bytes=None):
        options = {} if fetch_bytes is None else {
            "fetch.max.bytes": max(fetch_bytes, 1000), "max.partition.fetch.bytes": fetch_bytes,
            "message.max.bytes": 1000}
        consumer = self.consumer(**options)
        high_watermark = consumer.get_watermark_offsets(TopicPartition(topic, 0), 20)[1]
        if timestamp is not None:
            found = consumer.offsets_for_times([TopicPartition(topic, 0, timestamp)], 20)[0]
            offset = found.offset if found.offset >= 0 else high_watermark
        consumer.assign([TopicPartition(topic, 0, offset)])
        records = []
        position = offset
        deadline = steps.Deadline(f"reading {topic} to {high_watermark}")
        while position < high_watermark:
            deadline.check(f"position {position}, {len(records)} records")
            message = consumer.poll(0.5)
            if message is None:
                continue
            if message.error() is None:
                records.append(steps.item_of(
                    message.offset(), message.timestamp()[1], message.key(), message.value(),
                    message.headers()))
                position = message.offset() + 1
            elif message.error().code() == KafkaError._PARTITION_EOF:
                position = message.offset()
            else:
                raise RuntimeError(str(message.error()))
        consumer.close()
        return {"records": records, "position": position, "high_watermark": high_watermark}

    def lookup(self, topic, timestamps):
        consumer = self.consumer()
        found = [consumer.offsets_for_times([TopicPartition(topic, 0, t)], 20)[0]
                 for t in timestamps]
        consumer.close()
        for one in found:
            if one.error is not None:
                raise RuntimeError(str(one.error))
        return {"offsets": [max(one.offset, -1) for one in found]}

    def follow(self, topic, value):
        if topic not in self.followers:
            consumer = self.consumer()
            consumer.assign([TopicPartition(topic, 0, 0)])
            self.followers[topic] = (self.producer(), consumer)
        producer, consumer = self.followers[topic]
        state = {"send": True, "error": None}

        def delivered(error, _):
            state["send"], state["error"] = error is not None, error

        deadline = steps.Deadline(f"following {topic}")
        while True:
            deadline.check(f"last error {state['error']}")
            if state["send"]:
                state["send"] = False
                producer.produce(topic, value=value.encode(), partition=0, on_delivery=delivered)
            producer.poll(0.1)
            message = consumer.poll(0.5)
            if message is None or message.error() is not None:
                continue
            if message.value() == value.encode():
                return {"offset": message.offset()}


if __name__ == "__main__":
    steps.serve(Driver(sys.argv[1]))
