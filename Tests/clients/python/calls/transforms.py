"""Transforms: server timestamps, increments, arrays, minimum and maximum."""

import datetime

from google.cloud import firestore

from steps import step, wait

INT_MAX, INT_MIN = 2**63 - 1, -(2**63)
OPERANDS = {
    "integer": 5, "negative": -3, "double": 2.5, "zero": 0, "negative zero": -0.0, "NaN": float("nan"),
    "largest": INT_MAX, "smallest": INT_MIN, "text": "text", "null": None, "map": {"a": 1}, "list": [1],
}


async def applied(scope, transforms):
    """Applies each transform to each operand and to a missing field. Returns the values by transform and operand."""
    results = {}
    for name, transform in transforms.items():
        document = scope.document(name)
        await wait(document.set({key: value for key, value in OPERANDS.items()}))
        await wait(document.update({f"`{key}`": transform for key in [*OPERANDS, "missing"]}))
        results[name] = (await scope.get(document)).to_dict()
    return results


@step("transforms/increment")
async def increment(scope):
    return await applied(scope, {
        "by an integer": firestore.Increment(2), "by a double": firestore.Increment(0.5),
        "by a negative": firestore.Increment(-7), "by much": firestore.Increment(INT_MAX),
        "by a double without fraction": firestore.Increment(1.0), "by NaN": firestore.Increment(float("nan")),
    })


@step("transforms/maximum and minimum")
async def extremes(scope):
    return await applied(scope, {
        "maximum of an integer": firestore.Maximum(3), "maximum of a double": firestore.Maximum(2.5),
        "maximum of an equal double": firestore.Maximum(5.0), "maximum of zero": firestore.Maximum(0),
        "maximum of NaN": firestore.Maximum(float("nan")),
        "minimum of an integer": firestore.Minimum(3), "minimum of a double": firestore.Minimum(2.5),
        "minimum of zero": firestore.Minimum(0.0), "minimum of NaN": firestore.Minimum(float("nan")),
    })


@step("transforms/arrays")
async def arrays(scope):
    values = [1, 1.0, "a", None, float("nan"), {"a": 1}, 2]
    results = await applied(scope, {
        "union": firestore.ArrayUnion([1, "x", "x", {"a": 1}]), "removal": firestore.ArrayRemove([1, "x"]),
    })
    for name, transform in {
        "union with all types": firestore.ArrayUnion([1.0, "b", None, float("nan"), {"a": 1}, -0.0]),
        "removal of all types": firestore.ArrayRemove([1.0, None, float("nan"), {"a": 1}]),
    }.items():
        await wait(scope.document(name).set({"list": values}))
        await wait(scope.document(name).update({"list": transform}))
        results[name] = (await scope.get(scope.document(name))).to_dict()
    return results


@step("transforms/server timestamp")
async def timestamp(scope):
    written = await wait(scope.document().set({
        "at": firestore.SERVER_TIMESTAMP, "in": {"at": firestore.SERVER_TIMESTAMP, "n": 1}, "n": 1}))
    fields = (await scope.get(scope.document())).to_dict()
    await wait(scope.document().update({"in.at": firestore.SERVER_TIMESTAMP, "m": 2}))
    later = (await scope.get(scope.document())).to_dict()
    return {
        "fields": fields,
        "one time": fields["at"] == fields["in"]["at"],
        "milliseconds": fields["at"].microsecond % 1000 == 0,
        "close to the commit": abs(written.update_time - fields["at"]) < datetime.timedelta(seconds=5),
        "later": later["in"]["at"] > later["at"],
        "others are kept": later["n"],
    }


@step("transforms/with set, create and merge")
async def combined(scope):
    await wait(scope.document("create").create({"n": firestore.Increment(1), "m": 1}))
    await wait(scope.document("set").set({"n": 5, "list": [1]}))
    await wait(scope.document("set").set({"n": firestore.Increment(1), "list": firestore.ArrayUnion([2])}))
    await wait(scope.document("merge").set({"n": 5, "list": [1], "m": 1}))
    await wait(scope.document("merge").set(
        {"n": firestore.Increment(1), "list": firestore.ArrayUnion([2]), "in": {"x": firestore.Maximum(3)}},
        merge=True))
    await wait(scope.document("only").set({"n": firestore.Increment(1)}, merge=True))
    return await wait(scope.collection().get())


@step("transforms/results of a commit")
async def results(scope):
    await wait(scope.document().set({"n": 1, "list": [1, 2], "x": 5}))
    path = scope.name("c/a")
    transforms = [
        {"field_path": "n", "increment": {"integer_value": 4}},
        {"field_path": "list", "append_missing_elements": {"values": [{"integer_value": 3}]}},
        {"field_path": "x", "maximum": {"double_value": 7.5}},
        {"field_path": "t", "set_to_server_value": "REQUEST_TIME"},
        {"field_path": "n", "increment": {"integer_value": 10}},
    ]
    answers = [
        await scope.call("commit", database=scope.database, writes=[
            {"update": {"name": path, "fields": {"m": {"integer_value": 1}}}, "update_mask": {"field_paths": ["m"]},
             "update_transforms": transforms}]),
        await scope.call("commit", database=scope.database, writes=[
            {"transform": {"document": path, "field_transforms": transforms[:3]}}]),
    ]
    return [*answers, await scope.get(scope.document())]


@step("transforms/that are refused")
async def refused(scope):
    await wait(scope.document().set({"n": 1}))

    def commit(*transforms):
        return lambda: scope.call("commit", database=scope.database, writes=[
            {"transform": {"document": scope.name("c/a"), "field_transforms": list(transforms)}}])

    return {
        "increment by a text": await scope.refusal(commit({"field_path": "n", "increment": {"string_value": "a"}})),
        "maximum of a text": await scope.refusal(commit({"field_path": "n", "maximum": {"string_value": "a"}})),
        "no path": await scope.refusal(commit({"increment": {"integer_value": 1}})),
        "no transform": await scope.refusal(commit({"field_path": "n"})),
        "no transforms": await scope.refusal(commit()),
        "list in a list": await scope.refusal(commit({
            "field_path": "n",
            "append_missing_elements": {"values": [{"array_value": {"values": [{"integer_value": 1}]}}]}})),
        "unchanged": await scope.get(scope.document()),
    }
