"""Results of calls as JSON that two runs can compare: without generated times, tokens and ids."""

import base64
import datetime
import hashlib
import json
import math
import re

from google.api_core import exceptions
from google.cloud.firestore_v1 import GeoPoint
from google.cloud.firestore_v1.base_document import BaseDocumentReference, DocumentSnapshot
from google.cloud.firestore_v1.vector import Vector
from google.protobuf import json_format, message

# Longer texts and bytes are shown as a length and a hash.
TEXT_MAX = 200

# Times before this year are data of a step. Later ones come from a clock.
CLOCK_YEAR = 2020

TOKENS = {"resume_token", "stream_token", "stream_id", "next_page_token", "transaction", "page_token"}
GENERATED_ID = re.compile(r"(?<=/)[A-Za-z0-9]{20}(?=$|[/\s\"'.>])")
# Times of a clock as text, and as microseconds since 1970.
CLOCK_TIME = re.compile(r"\b1[6-9]\d{14}\b|20[2-9]\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?")


class Recorder:
    """Collects the results of steps by name, and knows what of them depends on the run."""

    def __init__(self, server, show=None):
        self.results = {}
        self.show = show
        # Pairs of a text of this run and its replacement; longer texts first.
        self.replaced = [(f"projects/{server.project}/databases/{server.database}/documents/", "/")]
        self.replaced.append((f"projects/{server.project}/databases/{server.database}/documents", "/"))
        self.replaced.append((f"projects/{server.project}/databases/{server.database}", "DATABASE"))
        self.replaced.append((server.project, "PROJECT"))

    def add(self, step, result):
        self.results[step] = result
        if self.show:
            print(line(step, result), file=self.show, flush=True)

    def text(self, text):
        for found, replacement in self.replaced:
            text = text.replace(found, replacement)
        text = CLOCK_TIME.sub("<time>", GENERATED_ID.sub("<id>", text))
        if len(text) <= TEXT_MAX:
            return text
        return f"<{len(text)} characters, {hashlib.sha256(text.encode()).hexdigest()[:12]}>"

    def plain(self, value):
        """Returns JSON for a value of the client library. Types that JSON lacks get an object with their name."""
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            if math.isnan(value) or math.isinf(value):
                return {"double": str(value)}
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            text = base64.b64encode(value).decode()
            return {"bytes": text if len(text) <= TEXT_MAX else self.text(text)}
        if isinstance(value, datetime.datetime):
            return "<time>" if value.year >= CLOCK_YEAR else {"time": rfc3339(value)}
        if isinstance(value, GeoPoint):
            return {"point": [value.latitude, value.longitude]}
        if isinstance(value, Vector):
            numbers = [self.plain(part) for part in value]
            return {"vector": numbers if len(numbers) < 20 else self.text(str(numbers))}
        if isinstance(value, BaseDocumentReference):
            return {"reference": self.text("/" + value.path)}
        if isinstance(value, DocumentSnapshot):
            return self.snapshot(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.plain(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.plain(part) for part in value]
        if hasattr(value, "_pb"):
            return self.plain(value._pb)
        if isinstance(value, message.Message):
            return self.message(json_format.MessageToDict(value, preserving_proto_field_name=True))
        raise TypeError(f"{type(value)} has no form in the results")

    def snapshot(self, snapshot):
        if not snapshot.exists:
            return {"name": self.text("/" + snapshot.reference.path), "missing": True}
        return {
            "name": self.text("/" + snapshot.reference.path),
            "fields": self.plain(snapshot.to_dict()),
            "times": [self.plain(snapshot.create_time), self.plain(snapshot.update_time)],
        }

    def message(self, value, key=None):
        if isinstance(value, dict):
            return {key: self.message(part, key) for key, part in value.items()}
        if isinstance(value, list):
            return [self.message(part) for part in value]
        if isinstance(value, str):
            return "<token>" if key in TOKENS else self.text(value)
        return self.plain(value)

    def error(self, error):
        """Returns the code and the message of a refusal, or the type of an error of the library itself."""
        if isinstance(error, exceptions.RetryError) and error.cause:
            error = error.cause
        if isinstance(error, exceptions.GoogleAPICallError) and error.grpc_status_code:
            return {"error": error.grpc_status_code.name, "message": self.text(error.message or "")}
        if hasattr(error, "code") and callable(error.code) and hasattr(error.code(), "name"):
            return {"error": error.code().name, "message": self.text(error.details() or "")}
        return {"raised": type(error).__name__, "message": self.text(str(error))}


def rfc3339(time):
    if hasattr(time, "rfc3339"):
        return time.rfc3339()
    return time.astimezone(datetime.timezone.utc).isoformat()


def line(step, result):
    return json.dumps({"step": step, "result": result}, ensure_ascii=False, sort_keys=True)


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return {entry["step"]: entry["result"] for entry in map(json.loads, file)}
