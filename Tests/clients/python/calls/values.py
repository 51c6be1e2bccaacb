"""Values of all types, and names of documents and fields in all scripts."""

import datetime

from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud import firestore
from google.cloud.firestore_v1.vector import Vector

from steps import step, wait

UTC = datetime.timezone.utc
TEXTS = {
    "emoji": "👩‍👩‍👧 é😀", "combining": "e\u0301 is not é", "right to left": "שלום", "zero": "a\u0000b",
    "controls": "\t\n\r\u0001\u007f", "astral": "\U0010ffff", "quotes": "\"'`\\/", "empty": "", "spaces": "  ",
}


@step("values/all types")
async def types(scope):
    await wait(scope.document().set({
        "null": None, "true": True, "false": False,
        "integers": [0, -1, 2**63 - 1, -(2**63), 2**53 + 1],
        "doubles": [0.0, -0.0, 1.5, 1.0, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan")],
        "times": [
            datetime.datetime(1, 1, 1, tzinfo=UTC), datetime.datetime(1970, 1, 1, tzinfo=UTC),
            datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
            datetime.datetime(2001, 2, 3, 4, 5, 6, 789012, tzinfo=UTC)],
        "nanoseconds": DatetimeWithNanoseconds(2001, 2, 3, 4, 5, 6, nanosecond=123456789, tzinfo=UTC),
        "texts": TEXTS, "bytes": [b"", b"\x00\xff", bytes(range(256))],
        "points": [firestore.GeoPoint(0, 0), firestore.GeoPoint(-90, 180), firestore.GeoPoint(52.5, -13.25)],
        "references": [scope.document(), scope.document("é", "ü").collection("x").document("y")],
        "lists": [{"list": [1, {"a": [{}]}]}, {}], "empty list": [], "empty map": {},
        "maps": {"a": {"b": {"c": {"d": None}}}},
    }))
    snapshot = await scope.get(scope.document())
    names = {name: type(value).__name__ for name, value in snapshot.to_dict().items()}
    return [snapshot, names]


@step("values/vectors")
async def vectors(scope):
    await wait(scope.document().set({"v": Vector([1.0, -0.5, 3.0]), "in": {"v": Vector([0.0])}}))
    await wait(scope.document().update({"w": Vector([2.0] * 2048)}))
    return {
        "document": await scope.get(scope.document()),
        "2049 dimensions": await scope.refusal(lambda: scope.document("b").set({"v": Vector([1.0] * 2049)})),
        "none": await scope.refusal(lambda: scope.document("c").set({"v": Vector([])})),
    }


@step("values/field names")
async def fields(scope):
    fields = {**TEXTS, "a.b": 1, "a": {"b": 2}, "[x]": 3, "*~/": 4, "0": 5, "__x": 6, "x__": 7, "😀": {"é": 8}}
    del fields["empty"]
    await wait(scope.document().set({name: 1 if isinstance(value, str) else value for name, value in fields.items()}))
    await wait(scope.document().update({"`a.b`": 10, "a.b": 20, "`😀`.`é`": 80, "`0`": 50}))
    return [
        await scope.get(scope.document()),
        await wait(scope.document().get(field_paths=["`a.b`", "`😀`.`é`"])),
    ]


@step("values/document names")
async def names(scope):
    texts = [text for name, text in TEXTS.items() if text and "/" not in text and name != "zero"]
    texts += ["a b", "100%", "%2F", "a:b", "*", "__x", "~", "...", "n" * 1500]
    await scope.fill({text: {"n": number} for number, text in enumerate(texts)})
    read = await wait(scope.client.get_all([scope.document(text) for text in texts]))
    return {
        "found": sorted(snapshot.get("n") for snapshot in read if snapshot.exists),
        "order": [snapshot.get("n") for snapshot in await wait(scope.collection().get())],
        "listed": len(await wait(scope.collection().list_documents())),
    }


@step("values/numeric names")
async def numeric(scope):
    for name in ["__id7__", "__id-3__", "__id12__", "__id9223372036854775807__", "a", "7", "_"]:
        await wait(scope.document(name).set({"n": 1}))
    return [snapshot.id for snapshot in await wait(scope.collection().get())]
