// SPDX-License-Identifier: Apache-2.0
// Steps (see drivers/steps.py) through Apache Kafka's Java client.
// Run from source: java -cp 'lib/*' Driver.java HOST:PORT

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.AppInfoParser;

public class Driver {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long STEP_MS = 90_000;
  private static final int BATCH_BYTES = 16384;

  private final String address;
  private final Map<String, KafkaProducer<byte[], byte[]>> producers = new HashMap<>();
  private final Map<String, KafkaConsumer<byte[], byte[]>> consumers = new HashMap<>();

  Driver(String address) {
    this.address = address;
  }

  public static void main(String[] arguments) throws Exception {
    Driver driver = new Driver(arguments[0]);
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      ObjectNode answer;
      try {
        answer = driver.answer(JSON.readTree(line));
      } catch (Exception error) {
        answer = JSON.createObjectNode().put("error", error.toString());
      }
      out.println(JSON.writeValueAsString(answer));
    }
  }

  private ObjectNode answer(JsonNode step) throws Exception {
    String topic = step.path("topic").asText();
    switch (step.get("do").asText()) {
      case "about":
        return about();
      case "produce":
        return produce(topic, step);
      case "consume":
        return consume(topic, step);
      case "lookup":
        return lookup(topic, step.get("timestamps"));
      case "follow":
        return follow(topic, step.get("value").asText());
      default:
        throw new IllegalArgumentException("no such step");
    }
  }

  private ObjectNode about() {
    ObjectNode answer = JSON.createObjectNode();
    answer.put("name", "Java client " + AppInfoParser.getVersion());
    ArrayNode codecs = answer.putArray("codecs");
    for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
      codecs.add(codec);
    }
    return answer.put("idempotent", true).put("timestamps", true).put("null_headers", true)
        .put("follows", true);
  }

  private KafkaProducer<byte[], byte[]> producer(
      String codec, boolean idempotent, int batchBytes) {
    Map<String, Object> settings = new HashMap<>();
    settings.put("bootstrap.servers", address);
    settings.put("compression.type", codec);
    settings.put("enable.idempotence", idempotent);
    settings.put("linger.ms", 20);
    settings.put("batch.size", batchBytes);
    settings.put("acks", "all");
    settings.put("metadata.max.age.ms", 1000);
    settings.put("delivery.timeout.ms", 120_000);
    settings.put("request.timeout.ms", 10_000);
    return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  // No group.id: partitions are assigned by hand.
  private KafkaConsumer<byte[], byte[]> consumer(JsonNode fetchBytes) {
    Map<String, Object> settings = new HashMap<>();
    settings.put("bootstrap.servers", address);
    settings.put("enable.auto.commit", false);
    settings.put("auto.offset.reset", "earliest");
    settings.put("fetch.max.wait.ms", 50);
    settings.put("metadata.max.age.ms", 1000);
    if (!fetchBytes.isMissingNode() && !fetchBytes.isNull()) {
      settings.put("fetch.max.bytes", fetchBytes.asInt());
      settings.put("max.partition.fetch.bytes", fetchBytes.asInt());
    }
    return new KafkaConsumer<>(
        settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  private ObjectNode produce(String topic, JsonNode step) throws Exception {
    List<Future<RecordMetadata>> sent = new ArrayList<>();
    ObjectNode answer = JSON.createObjectNode();
    try (KafkaProducer<byte[], byte[]> producer =
        producer(step.get("codec").asText(), step.get("idempotent").asBoolean(),
            step.path("batch_bytes").asInt(BATCH_BYTES))) {
      for (JsonNode item : step.get("records")) {
        List<Header> headers = new ArrayList<>();
        for (JsonNode header : item.get(2)) {
          headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1))));
        }
        Long timestamp = item.get(3).isNull() ? null : item.get(3).asLong();
        sent.add(producer.send(new ProducerRecord<>(
            topic, 0, timestamp, bytes(item.get(0)), bytes(item.get(1)), headers)));
      }
      producer.flush();
      ArrayNode offsets = answer.putArray("offsets");
      for (Future<RecordMetadata> one : sent) {
        offsets.add(one.get(10, TimeUnit.SECONDS).offset());
      }
    }
    return answer;
  }

  private ObjectNode consume(String topic, JsonNode step) {
    ObjectNode answer = JSON.createObjectNode();
    TopicPartition partition = new TopicPartition(topic, 0);
    try (KafkaConsumer<byte[], byte[]> consumer = consumer(step.path("fetch_bytes"))) {
      consumer.assign(List.of(partition));
      long highWatermark = consumer.endOffsets(List.of(partition)).get(partition);
      long offset = step.path("offset").asLong();
      if (!step.path("timestamp").isMissingNode() && !step.get("timestamp").isNull()) {
        offset = offsetAt(consumer, partition, step.get("timestamp").asLong());
        offset = offset < 0 ? highWatermark : offset;
      }
      consumer.seek(partition, offset);
      ArrayNode records = answer.putArray("records");
      long deadline = System.currentTimeMillis() + STEP_MS;
      while (consumer.position(partition) < highWatermark) {
        if (System.currentTimeMillis() > deadline) {
          throw new IllegalStateException("reading " + topic + " to " + highWatermark
              + " is stuck at " + consumer.position(partition));
        }
        for (ConsumerRecord<byte[], byte[]> one : consumer.poll(Duration.ofMillis(500))) {
          records.add(item(one));
        }
      }
      answer.put("position", consumer.position(partition)).put("high_watermark", highWatermark);
    }
    return answer;
  }

  private static long offsetAt(
      KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long timestamp) {
    var found = consumer.offsetsForTimes(Map.of(partition, timestamp)).get(partition);
    return found == null ? -1 : found.offset();
  }

  private ObjectNode lookup(String topic, JsonNode timestamps) {
    ObjectNode answer = JSON.createObjectNode();
    ArrayNode offsets = answer.putArray("offsets");
    try (KafkaConsumer<byte[], byte[]> consumer = consumer(JSON.missingNode())) {
      for (JsonNode timestamp : timestamps) {
        offsets.add(offsetAt(consumer, new TopicPartition(topic, 0), timestamp.asLong()));
      }
    }
    return answer;
  }

  private ObjectNode follow(String topic, String value) throws Exception {
    KafkaProducer<byte[], byte[]> producer =
        producers.computeIfAbsent(topic, unused -> producer("none", true, BATCH_BYTES));
    KafkaConsumer<byte[], byte[]> consumer = consumers.computeIfAbsent(topic, unused -> {
      KafkaConsumer<byte[], byte[]> made = consumer(JSON.missingNode());
      made.assign(List.of(new TopicPartition(topic, 0)));
      return made;
    });
    Future<RecordMetadata> sent = null;
    String lastError = "none";
    long deadline = System.currentTimeMillis() + STEP_MS;
    while (System.currentTimeMillis() < deadline) {
      if (sent == null) {
        sent = producer.send(
            new ProducerRecord<>(topic, 0, null, value.getBytes(StandardCharsets.UTF_8)));
      } else if (sent.isDone()) {
        try {
          sent.get();
        } catch (java.util.concurrent.ExecutionException error) {
          lastError = error.toString();
          sent = null;
        }
      }
      for (ConsumerRecord<byte[], byte[]> one : consumer.poll(Duration.ofMillis(500))) {
        if (value.equals(new String(one.value(), StandardCharsets.UTF_8))) {
          return JSON.createObjectNode().put("offset", one.offset());
        }
      }
    }
    throw new IllegalStateException("following " + topic + " is stuck, last error " + lastError);
  }

  private static byte[] bytes(JsonNode text) {
    return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
  }

  private static String text(byte[] bytes) {
    return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
  }

  private static ArrayNode item(ConsumerRecord<byte[], byte[]> one) {
    ArrayNode item = JSON.createArrayNode();
    item.add(one.offset()).add(one.timestamp()).add(text(one.key())).add(text(one.value()));
    ArrayNode headers = item.addArray();
    for (Header header : one.headers()) {
      headers.addArray().add(header.key()).add(text(header.value()));
    }
    return item;
  }
}
