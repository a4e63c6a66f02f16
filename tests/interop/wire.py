# SPDX-License-Identifier: Apache-2.0
"""The Kafka protocol over a plain socket: messages are dictionaries, laid out by wire_messages.py.

Answers must be consumed to the last byte; what a strict client would stumble over raises here.
"""
import re
import socket
import struct
import uuid

from batches import uvarint
from wire_messages import MESSAGES

NUMBERS = {"i8": ">b", "i16": ">h", "i32": ">i", "i64": ">q"}


class Closed(Exception):
    """The broker closed the connection."""


class Struct(tuple):
    """Its fields."""


class Array(tuple):
    """One item: the kind of the elements."""


class Field:
    def __init__(self, name, kind, nullable, default, versions, tag):
        self.name, self.kind, self.nullable = name, kind, nullable
        self.default, self.versions, self.tag = default, versions, tag

    def start_value(self):
        if self.default is not None:
            return None if self.default == "null" else self._parsed_default()
        if self.nullable:
            return None
        if isinstance(self.kind, Struct):
            return {}
        if isinstance(self.kind, Array):
            return []
        return {"str": "", "bool": False, "uuid": uuid.UUID(int=0)}.get(self.kind, 0)

    def _parsed_default(self):
        named = {"MIN32": -2**31, "MAX32": 2**31 - 1, "true": True, "false": False, '""': ""}
        return named[self.default] if self.default in named else int(self.default)


def _parse_versions(text):
    first, _, last = text.partition("-")
    if text.endswith("+"):
        return int(text[:-1]), 1000
    return int(first), int(last or first)


class _Layout:
    """Reads the notation of wire_messages.py."""
    TOKEN = re.compile(r"\s*([\[\]{},]|[\w.]+:|\w+|\?(?:\([\d+-]+\))?|=[-\w\"]+|@[\d+-]+|#\d+)")

    def __init__(self, text):
        self.tokens = self.TOKEN.findall(text)
        self.at = 0
        self.fields = self._fields()

    def _next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def _peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _fields(self):
        fields = []
        while self._peek() not in ("", "}"):
            name = self._next()[:-1]
            kind = self._kind()
            nullable, default, versions, tag = False, None, (0, 1000), None
            while self._peek()[:1] in ("?", "=", "@", "#") and self._peek():
                mark = self._next()
                if mark[0] == "?":
                    nullable = _parse_versions(mark[2:-1]) if len(mark) > 1 else (0, 1000)
                elif mark[0] == "=":
                    default = mark[1:]
                elif mark[0] == "@":
                    versions = _parse_versions(mark[1:])
                else:
                    tag = int(mark[1:])
            fields.append(Field(name, kind, nullable, default, versions, tag))
            if self._peek() == ",":
                self._next()
        return fields

    def _kind(self):
        token = self._next()
        if token == "{":
            fields = self._fields()
            self._next()
            return Struct(fields)
        if token == "[":
            item = self._kind()
            self._next()
            return Array([item])
        return token


class Api:
    def __init__(self, name, key, flexible, request, response):
        self.name, self.key, self.flexible = name, key, flexible
        self.request, self.response = _Layout(request).fields, _Layout(response).fields


APIS = {name: Api(name, *rest) for name, rest in MESSAGES.items()}


class Writer:
    def __init__(self, version, flexible):
        self.version, self.flexible = version, flexible

    def sized(self, data, count, format_):
        if data is None:
            return b"\0" if self.flexible else struct.pack(format_, -1)
        return (uvarint(count + 1) if self.flexible else struct.pack(format_, count)) + data

    def value(self, kind, value):
        if isinstance(kind, Struct):
            return self.fields(kind, value)
        if kind in NUMBERS:
            return struct.pack(NUMBERS[kind], value)
        if kind == "bool":
            return b"\1" if value else b"\0"
        if kind == "uuid":
            return value.bytes
        if kind == "str":
            data = None if value is None else value.encode()
            return self.sized(data, len(data or b""), ">h")
        if kind == "records":
            return self.sized(value, len(value or b""), ">i")
        data = None if value is None else b"".join(self.value(kind[0], v) for v in value)
        return self.sized(data, len(value or ()), ">i")

    def fields(self, fields, values):
        unknown = set(values) - {f.name for f in fields} - {"tags"}
        assert not unknown, f"no such fields: {unknown}"
        out, tags = b"", dict(values.get("tags", {}))
        for field in fields:
            if not field.versions[0] <= self.version <= field.versions[1]:
                continue
            value = values.get(field.name, field.start_value())
            if field.tag is None:
                out += self.value(field.kind, value)
            elif field.name in values:
                tags[field.tag] = self.value(field.kind, value)
        if self.flexible:
            out += uvarint(len(tags))
            for tag in sorted(tags):
                out += uvarint(tag) + uvarint(len(tags[tag])) + tags[tag]
        return out


class Reader:
    def __init__(self, data, version, flexible):
        self.data, self.version, self.flexible, self.at = data, version, flexible, 0

    def take(self, count):
        assert 0 <= count <= len(self.data) - self.at, f"answer too short at byte {self.at}"
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, format_):
        return struct.unpack(format_, self.take(struct.calcsize(format_)))[0]

    def uvarint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def count(self, format_):
        return self.uvarint() - 1 if self.flexible else self.number(format_)

    def value(self, kind, field):
        if isinstance(kind, Struct):
            return self.fields(kind)
        if kind in NUMBERS:
            return self.number(NUMBERS[kind])
        if kind == "bool":
            return self.take(1) != b"\0"
        if kind == "uuid":
            return uuid.UUID(bytes=self.take(16))
        count = self.count(">h" if kind == "str" else ">i")
        if count < 0:
            allowed = field.nullable and field.nullable[0] <= self.version <= field.nullable[1]
            assert allowed, f"{field.name} is null, which version {self.version} does not allow"
            return None
        if isinstance(kind, Array):
            return [self.value(kind[0], field) for _ in range(count)]
        data = self.take(count)
        return data.decode() if kind == "str" else data

    def fields(self, fields):
        values = {}
        for field in fields:
            if not field.versions[0] <= self.version <= field.versions[1]:
                continue
            values[field.name] = field.start_value()
            if field.tag is None:
                values[field.name] = self.value(field.kind, field)
        if self.flexible:
            self._tags(fields, values)
        return values

    def _tags(self, fields, values):
        known = {f.tag: f for f in fields
                 if f.tag is not None and f.versions[0] <= self.version <= f.versions[1]}
        last = -1
        for _ in range(self.uvarint()):
            tag, size = self.uvarint(), self.uvarint()
            assert tag > last, f"tag {tag} comes after {last}"
            last = tag
            end = self.at + size
            if tag in known:
                values[known[tag].name] = self.value(known[tag].kind, known[tag])
            else:
                values.setdefault("tags", {})[tag] = self.take(size)
            assert self.at == end, f"tag {tag} does not have the size that it says"


def frame(api, version, body, correlation=1, client_id="interop"):
    """A whole request: size, header, body."""
    if isinstance(api, str):
        api = APIS[api]
    flexible = version >= api.flexible
    client = client_id.encode() if client_id is not None else None
    header = struct.pack(">hhi", api.key, version, correlation)
    header += struct.pack(">h", -1) if client is None else struct.pack(">h", len(client)) + client
    if flexible:
        header += b"\0"
    data = header + Writer(version, flexible).fields(api.request, body)
    return struct.pack(">i", len(data)) + data


class Connection:
    """One socket; also in a `with`. Every wait is bounded by `timeout` seconds."""

    def __init__(self, host, port, timeout=15):
        self.socket = socket.create_connection((host, port), timeout)
        self._correlation = 100

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send_bytes(self, data):
        try:
            self.socket.sendall(data)
        except ConnectionError as error:
            raise Closed(str(error)) from error

    def receive_frame(self):
        size = struct.unpack(">i", self._receive(4))[0]
        return self._receive(size)

    def _receive(self, count):
        data = b""
        while len(data) < count:
            try:
                piece = self.socket.recv(min(count - len(data), 1 << 20))
            except ConnectionError as error:
                raise Closed(str(error)) from error
            if not piece:
                raise Closed("end of stream")
            data += piece
        return data

    def is_closed(self):
        """Whether the broker closed it, without an answer."""
        try:
            self._receive(1)
        except Closed:
            return True
        except TimeoutError:
            return False
        return False

    def send(self, api, version, body, client_id="interop"):
        self._correlation += 1
        self.send_bytes(frame(api, version, body, self._correlation, client_id))
        return self._correlation

    def receive(self, api, version, correlation, layout_version=None):
        data = self.receive_frame()
        return decode(data, api, version if layout_version is None else layout_version, correlation)

    def request(self, api, version, body=None, client_id="interop"):
        return self.receive(api, version, self.send(api, version, body or {}, client_id))

    def produce(self, topic, records, version=9, partition=0, acks=-1):
        """Produces those bytes; returns the answer for the partition."""
        answer = self.request("Produce", version, produce_body(topic, records, partition, acks))
        return answer["responses"][0]["partition_responses"][0]

    def fetch(self, topic, offset, version=11, partition=0, **changes):
        answer = self.request("Fetch", version, fetch_body(topic, offset, partition, **changes))
        return answer["responses"][0]["partitions"][0]

    def list_offset(self, topic, timestamp, partition=0, version=7):
        answer = self.request("ListOffsets", version, {"replica_id": -1, "topics": [{
            "name": topic,
            "partitions": [{"partition_index": partition, "timestamp": timestamp}]}]})
        found = answer["topics"][0]["partitions"][0]
        assert found["error_code"] == 0, found
        return found["offset"]


def decode(data, api, version, correlation):
    if isinstance(api, str):
        api = APIS[api]
    flexible = version >= api.flexible
    reader = Reader(data, version, flexible)
    got = reader.number(">i")
    assert got == correlation, f"correlation id {got}, wanted {correlation}"
    if flexible and api.name != "ApiVersions":
        assert reader.uvarint() == 0, "the answer's header has tags"
    answer = reader.fields(api.response)
    left = len(data) - reader.at
    assert left == 0, f"{left} bytes too many in {api.name} v{version}"
    return answer


def produce_body(topic, records, partition=0, acks=-1):
    return {"acks": acks, "timeout_ms": 10000, "topic_data": [{
        "name": topic, "partition_data": [{"index": partition, "records": records}]}]}


def fetch_body(topic, offset, partition=0, **changes):
    """`changes`: fields of the request, or partition_max_bytes; a topic id goes by its type."""
    one = {"partition": partition, "fetch_offset": offset,
           "partition_max_bytes": changes.pop("partition_max_bytes", 1 << 20)}
    named = {"topic_id" if isinstance(topic, uuid.UUID) else "topic": topic}
    return {"max_wait_ms": 100, "min_bytes": 1, "max_bytes": 10 << 20,
            "topics": [{**named, "partitions": [one]}], **changes}
