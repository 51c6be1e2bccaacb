#!/usr/bin/env python3
"""Generates the fixtures of FirestoreWire from the descriptors of google-cloud-firestore.

    python3 -m venv /tmp/wire && /tmp/wire/bin/pip install google-cloud-firestore==2.34.1
    /tmp/wire/bin/python Tests/Fixtures/Wire/generate.py

Writes two files beside this script:

  descriptors.tsv   all fields of all messages, and all cases of all enums
  messages.tsv      random messages: name, protobuf in hexadecimal, JSON

The tests only read these files. The random numbers have a fixed seed, so the files change only if the
descriptors or this script change.
"""

import importlib
import json
import math
import pathlib
import pkgutil
import random

import google.cloud.firestore_v1.types as types
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor as Field

HERE = pathlib.Path(__file__).parent
PACKAGE = "google.firestore.v1."
MESSAGES_PER_TYPE = 20

# Messages and fields that FirestoreWire does not have, and skips.
SKIPPED = {
    "google.firestore.v1.ExecutePipelineRequest": "pipelines are refused",
    "google.firestore.v1.ExecutePipelineResponse": "pipelines are refused",
    "google.firestore.v1.StructuredPipeline": "pipelines are refused",
    "google.firestore.v1.Pipeline": "pipelines are refused",
    "google.firestore.v1.Pipeline.Stage": "pipelines are refused",
    "google.firestore.v1.Function": "pipelines are refused",
    "google.firestore.v1.ExplainStats": "only pipelines have it",
    "google.firestore.v1.ExplainMetrics": "no query plan is sent",
    "google.firestore.v1.ExecutionStats": "no query plan is sent",
    "google.firestore.v1.PlanSummary": "no query plan is sent",
    # Values have functions of their own, and no struct.
    "google.firestore.v1.Value": "a stored value",
    "google.firestore.v1.MapValue": "a part of a stored value",
    "google.protobuf.Any": "its content needs descriptors",
}
SKIPPED_FIELDS = {
    "google.rpc.Status.details",
    "google.firestore.v1.RunQueryResponse.explain_metrics",
    "google.firestore.v1.RunAggregationQueryResponse.explain_metrics",
}
# Kinds of values that only pipelines have.
PIPELINE_VALUES = {
    "field_reference_value", "variable_reference_value", "function_value", "pipeline_value",
}


# MARK: Descriptors


def pool():
    """The messages in a pool of their own, with the fields that the public descriptors lack or rename."""
    result = descriptor_pool.DescriptorPool()
    added = set()

    def add(file):
        if file.name in added:
            return
        added.add(file.name)
        for dependency in file.dependencies:
            add(dependency)
        proto = descriptor_pb2.FileDescriptorProto()
        file.CopyToProto(proto)
        for message in proto.message_type:
            patch(message)
        result.Add(proto)

    for module in pkgutil.iter_modules(types.__path__):
        module = importlib.import_module(f"{types.__name__}.{module.name}")
        for name in dir(module):
            message = getattr(module, name)
            if hasattr(message, "pb") and isinstance(message, type):
                add(message.pb().DESCRIPTOR.file)
    return result


def patch(message):
    if message.name == "Write" and not any(field.number == 5 for field in message.field):
        # The SDK for the web sends this member; the public descriptors do not have it.
        oneof = next(field.oneof_index for field in message.field if field.name == "delete")
        message.field.add(
            name="verify", number=5, type=Field.TYPE_STRING, label=Field.LABEL_OPTIONAL, oneof_index=oneof,
            json_name="verify")
    for field in message.field:
        if field.name == "from_":
            # `from` is a word of Python.
            field.name = field.json_name = "from"


def all_messages(found):
    """All messages that the RPCs reach, by name."""
    result = {}

    def visit(message):
        if message.full_name in result or message.full_name in SKIPPED:
            return
        result[message.full_name] = message
        for field in fields(message):
            if field.message_type:
                visit(field.message_type)

    for name in dir(types):
        if getattr(getattr(types, name), "pb", None):
            visit(found.FindMessageTypeByName(getattr(types, name).pb().DESCRIPTOR.full_name))
    return {
        name: message for name, message in sorted(result.items())
        if not message.GetOptions().map_entry
        and (name.startswith(PACKAGE) or name == "google.rpc.Status")
    }


def fields(message):
    return sorted(
        (field for field in message.fields if field.full_name not in SKIPPED_FIELDS),
        key=lambda field: field.number)


def type_name(field):
    names = {
        Field.TYPE_STRING: "string", Field.TYPE_BYTES: "bytes", Field.TYPE_BOOL: "bool",
        Field.TYPE_INT32: "int32", Field.TYPE_INT64: "int64", Field.TYPE_DOUBLE: "double",
    }
    if is_map(field):
        return f"map<string, {type_name(field.message_type.fields_by_name['value'])}>"
    if field.message_type:
        name = field.message_type.full_name
    elif field.enum_type:
        name = field.enum_type.full_name
    else:
        name = names[field.type]
    if field.is_repeated:
        return "repeated " + name
    if field.containing_oneof and not field.message_type:
        return "optional " + name
    return name


def is_map(field):
    return field.message_type and field.message_type.GetOptions().map_entry


def write_descriptors(messages):
    lines = []
    enums = {}
    for name, message in messages.items():
        lines.append(f"message\t{name}")
        for field in fields(message):
            # A oneof with one member is a plain field.
            oneof = field.containing_oneof
            members = [] if oneof is None else [m for m in oneof.fields if m.full_name not in SKIPPED_FIELDS]
            group = oneof.name if len(members) > 1 else ""
            lines.append(f"field\t{field.number}\t{field.name}\t{type_name(field)}\t{group}")
            if field.enum_type:
                enums[field.enum_type.full_name] = field.enum_type
    for name, enum in sorted(enums.items()):
        lines.append(f"enum\t{name}")
        lines += [f"case\t{value.number}\t{value.name}" for value in enum.values]
    (HERE / "descriptors.tsv").write_text("\n".join(lines) + "\n")


# MARK: Random messages


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def fill(self, message, depth=0):
        for oneof in message.DESCRIPTOR.oneofs:
            members = [f for f in oneof.fields if f.name not in PIPELINE_VALUES]
            is_value = message.DESCRIPTOR.full_name == PACKAGE + "Value"
            if is_value or self.random.random() < 0.8:
                self.set(message, self.random.choice(members), depth)
        for field in fields(message.DESCRIPTOR):
            if not field.containing_oneof and self.random.random() < max(0.2, 0.85 - 0.1 * depth):
                self.set(message, field, depth)

    def set(self, message, field, depth):
        if is_map(field):
            entries = getattr(message, field.name)
            for _ in range(self.count(depth)):
                key = self.field_name()
                if field.message_type.fields_by_name["value"].message_type:
                    entries[key].CopyFrom(self.value(depth + 1))
                else:
                    entries[key] = self.string()
        elif field.is_repeated:
            for _ in range(self.count(depth)):
                if field.message_type:
                    getattr(message, field.name).append(self.message(field, depth))
                else:
                    getattr(message, field.name).append(self.scalar(field))
        elif field.message_type:
            getattr(message, field.name).CopyFrom(self.message(field, depth))
        else:
            setattr(message, field.name, self.scalar(field))

    def count(self, depth):
        return self.random.choice([0, 1, 1, 1, 2, 3] if depth < 3 else [0, 1, 1])

    def message(self, field, depth):
        name = field.message_type.full_name
        message = message_factory.GetMessageClass(field.message_type)()
        if name == "google.protobuf.Timestamp":
            self.timestamp(message, in_value=field.containing_type.full_name == PACKAGE + "Value")
        elif name == "google.type.LatLng":
            message.latitude = self.random.choice([0.0, -0.0, 90.0, -90.0, self.random.uniform(-90, 90)])
            message.longitude = self.random.choice([0.0, 180.0, -180.0, self.random.uniform(-180, 180)])
        elif name == PACKAGE + "Value":
            return self.value(depth + 1)
        else:
            self.fill(message, depth + 1)
        return message

    def value(self, depth, in_array=False):
        value = message_factory.GetMessageClass(POOL.FindMessageTypeByName(PACKAGE + "Value"))()
        kinds = ["null_value", "boolean_value", "integer_value", "double_value", "timestamp_value",
                 "string_value", "bytes_value", "reference_value", "geo_point_value"]
        kinds += ["map_value"] * 2 if depth < 6 else []
        kinds += ["array_value"] * 2 if depth < 6 and not in_array else []
        kind = self.random.choice(kinds)
        if kind == "array_value":
            value.array_value.SetInParent()
            for _ in range(self.count(depth)):
                value.array_value.values.append(self.value(depth + 1, in_array=True))
        elif kind == "map_value":
            value.map_value.SetInParent()
            for _ in range(self.count(depth)):
                value.map_value.fields[self.field_name()].CopyFrom(self.value(depth + 1))
        elif kind == "reference_value":
            segments = [self.random.choice(["a", "rooms", "Zürich", "x y", "😀"])
                        for _ in range(self.random.choice([2, 4]))]
            value.reference_value = "projects/p-1/databases/(default)/documents/" + "/".join(segments)
        else:
            self.set(value, value.DESCRIPTOR.fields_by_name[kind], depth)
        return value

    def timestamp(self, message, in_value):
        message.seconds = self.random.choice(
            [0, -1, 1, 951_782_400, -62_135_596_800, 253_402_300_799,
             self.random.randint(-62_135_596_800, 253_402_300_799)])
        # A stored value has microseconds.
        digits = self.random.choice([0, 3, 6] if in_value else [0, 3, 6, 9])
        message.nanos = self.random.randrange(10**digits) * 10**(9 - digits) if digits else 0

    def scalar(self, field):
        pick = self.random.choice
        if field.enum_type:
            return pick([value.number for value in field.enum_type.values])
        if field.type == Field.TYPE_STRING:
            return self.string()
        if field.type == Field.TYPE_BYTES:
            return self.random.randbytes(pick([0, 1, 2, 3, 4, 16]))
        if field.type == Field.TYPE_BOOL:
            return pick([False, True])
        if field.type == Field.TYPE_INT32:
            return pick([0, 1, -1, 127, 128, 2**31 - 1, -2**31, self.random.randint(-2**31, 2**31 - 1)])
        if field.type == Field.TYPE_INT64:
            return pick([0, 1, -1, 2**53 + 1, 2**63 - 1, -2**63, self.random.randint(-2**63, 2**63 - 1)])
        return pick([0.0, -0.0, 0.1, 1e16, 100.0, -1.5, 5e-324, 1.7976931348623157e308, math.nan, math.inf,
                     -math.inf, self.random.uniform(-1e9, 1e9)])

    def string(self):
        return self.random.choice([
            "", "a", "rooms", "projects/p/databases/(default)", "Zürich", "e\u0301", "日本", "😀", "\u2028",
            '"\\/\b\f\n\r\t', "\0\x1f\x7f", "x" * 130,
        ])

    def field_name(self):
        # No name begins with another one, because Python's protobuf orders such names by length, the longer
        # one first. FirestoreWire orders them by their bytes.
        return self.random.choice(
            ["a", "b", "name", "Name", "x.y", "`", "é", "e\u0301", "日本", "😀", "first name", '"\\', "\n", "_x"])


def write_messages(messages):
    lines = []
    for name, descriptor in messages.items():
        for index in range(MESSAGES_PER_TYPE):
            message = message_factory.GetMessageClass(descriptor)()
            Generator(f"{name} {index}").fill(message)
            text = json_format.MessageToDict(message)
            lines.append("\t".join([
                name, message.SerializeToString(deterministic=True).hex(),
                json.dumps(text, ensure_ascii=False, sort_keys=True, separators=(",", ":")),
            ]))
    (HERE / "messages.tsv").write_text("\n".join(lines) + "\n")


POOL = pool()

if __name__ == "__main__":
    found = all_messages(POOL)
    write_descriptors(found)
    write_messages(found)
    print(f"{len(found)} messages")
