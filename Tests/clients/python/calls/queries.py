"""Queries: filters, orders, cursors, limits, projections and collection groups."""

import datetime

from google.cloud import firestore
from google.cloud.firestore_v1.base_vector_query import DistanceMeasure
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.vector import Vector

from steps import ids, step, wait

Field, And, Or = firestore.FieldFilter, firestore.And, firestore.Or
TIME = datetime.datetime(2001, 2, 3, 4, 5, 6, 789000, tzinfo=datetime.timezone.utc)

PEOPLE = {
    "ada": {"age": 36, "town": "London", "tags": ["math", "code"], "score": 9.5, "in": {"rank": 1}},
    "bob": {"age": 20, "town": "Paris", "tags": [], "score": 3, "in": {"rank": 2}},
    "cyd": {"age": 20, "town": "London", "tags": ["code"], "score": None},
    "dan": {"age": 51, "town": "Rome", "tags": ["art", "math"], "score": float("nan"), "in": {"rank": 1}},
    "eve": {"age": 36.5, "town": "Paris", "tags": ["art"], "nick": "e"},
    "fay": {"age": "old", "town": "Rome", "score": -1, "nick": None},
    "gus": {"town": "Oslo", "tags": "code", "score": 9.5, "in": {"rank": None}},
}
MIXED = {
    "null": None, "false": False, "true": True, "nan": float("nan"), "minus": -1.5, "zero": 0, "one": 1, "half": 1.5,
    "infinite": float("inf"), "time": TIME, "text": "a", "text2": "b", "bytes": b"\x00\x01",
    "point": firestore.GeoPoint(1, 2), "list": [1], "list2": [1, 2], "map": {"a": 1}, "map2": {"a": 2},
    "vector": Vector([1.0, 2.0]),
}


async def answers(scope, queries):
    """Returns the ids of each query's documents, or its error."""
    results = {}
    for name, query in queries.items():
        try:
            results[name] = ids(await wait(query.get()))
        except Exception as error:
            results[name] = scope.recorder.error(error)
    return results


def where(collection, *filters):
    for filter in filters:
        collection = collection.where(filter=filter)
    return collection


@step("queries/operators")
async def operators(scope):
    await scope.fill(PEOPLE)
    filters = [
        ("age", "==", 20), ("age", "!=", 20), ("age", "<", 36), ("age", "<=", 36), ("age", ">", 36), ("age", ">=", 36),
        ("age", "==", 20.0), ("age", ">", "a"), ("town", "in", ["Paris", "Oslo"]), ("town", "not-in", ["Paris", "Oslo"]),
        ("age", "not-in", [20, "old"]), ("tags", "array_contains", "code"),
        ("tags", "array_contains_any", ["art", "code"]), ("tags", "==", []), ("tags", "==", ["code"]),
        ("in", "==", {"rank": 1}), ("in.rank", "==", 1), ("in.rank", "==", None), ("in.rank", "!=", None),
        ("score", "==", None), ("score", "!=", None), ("score", "==", float("nan")), ("score", "!=", float("nan")),
        ("nick", "==", None), ("nick", "!=", "e"), ("absent", "==", 1), ("absent", "!=", 1), ("town", "in", ["Bern"]),
    ]
    return await answers(
        scope, {" ".join(map(str, filter)): where(scope.collection(), Field(*filter)) for filter in filters})


@step("queries/and and or")
async def composites(scope):
    await scope.fill(PEOPLE)
    people = scope.collection()
    london, paris = Field("town", "==", "London"), Field("town", "==", "Paris")
    young, old = Field("age", "<", 30), Field("age", ">=", 36)
    return await answers(scope, {
        "two filters": where(people, london, young),
        "and": where(people, And([london, Field("age", "==", 36)])),
        "or": where(people, Or([london, Field("age", "==", 51)])),
        "or with ranges": where(people, Or([And([london, young]), And([paris, old])])),
        "and of ors": where(people, And([Or([london, paris]), Or([young, Field("nick", "==", "e")])])),
        "or of the same": where(people, Or([london, london])),
        "or with in": where(people, Or([Field("town", "in", ["Rome", "Oslo"]), Field("age", "==", 20)])),
        "range on two fields": where(people, Field("age", ">", 10), Field("score", ">", 0)),
        "range between": where(people, Field("age", ">", 20), Field("age", "<", 40)),
        "or with a limit": where(people, Or([london, paris])).order_by("age").limit(3),
        "array and equality": where(people, Field("tags", "array_contains", "code"), london),
        "in and array": where(people, Field("town", "in", ["London", "Rome"]), Field("tags", "array_contains", "math")),
    })


@step("queries/orders")
async def orders(scope):
    await scope.fill(PEOPLE)
    people = scope.collection()
    down = firestore.Query.DESCENDING
    return await answers(scope, {
        "by name": people.order_by("__name__"),
        "age": people.order_by("age"),
        "age down": people.order_by("age", direction=down),
        "age, town": people.order_by("age").order_by("town"),
        "age, town down": people.order_by("age").order_by("town", direction=down),
        "town down, age": people.order_by("town", direction=down).order_by("age"),
        "nested": people.order_by("in.rank"),
        "absent": people.order_by("absent"),
        "filter and order": where(people, Field("town", "==", "London")).order_by("age", direction=down),
        "range and order": where(people, Field("age", ">", 10)).order_by("age", direction=down),
        "range and another order": where(people, Field("age", ">", 10)).order_by("town"),
        "age, name down": people.order_by("age").order_by("__name__", direction=down),
    })


@step("queries/order of all types")
async def mixed(scope):
    await scope.fill({name: {"v": value} for name, value in MIXED.items()})
    values = scope.collection()
    return await answers(scope, {
        "up": values.order_by("v"),
        "down": values.order_by("v", direction=firestore.Query.DESCENDING),
        "from a text": values.order_by("v").start_at({"v": "a"}),
        "after a list": values.order_by("v").start_after({"v": [1]}),
        "until a time": values.order_by("v").end_at({"v": TIME}),
        "numbers": where(values, Field("v", ">", -10)),
        "times": where(values, Field("v", "<=", TIME)),
        "bytes": where(values, Field("v", ">=", b"")),
        "points": where(values, Field("v", ">", firestore.GeoPoint(0, 0))),
        "maps": where(values, Field("v", ">", {"a": 1})),
        "lists": where(values, Field("v", "<", [1, 2])),
        "truth": where(values, Field("v", ">=", False)),
        "not 1": where(values, Field("v", "!=", 1)),
        "not a text or null": where(values, Field("v", "not-in", ["a", 1])),
    })


@step("queries/cursors and limits")
async def cursors(scope):
    await scope.fill(PEOPLE)
    people = scope.collection().order_by("age")
    bob = await scope.get(scope.document("bob"))
    ada = await scope.get(scope.document("ada"))
    two = people.order_by("town")
    return await answers(scope, {
        "start at": people.start_at({"age": 36}),
        "start after": people.start_after({"age": 36}),
        "end at": people.end_at({"age": 36}),
        "end before": people.end_before({"age": 36}),
        "between": people.start_at({"age": 20}).end_before({"age": 51}),
        "start at a document": people.start_at(bob),
        "start after a document": people.start_after(bob),
        "end at a document": people.end_at(ada),
        "end before a document": people.end_before(ada),
        "two values": two.start_at({"age": 20, "town": "Paris"}),
        "one of two values": two.start_after({"age": 20}),
        "document and filter": where(scope.collection(), Field("town", "==", "London")).start_after(ada),
        "names": scope.collection().order_by("__name__").start_at({"__name__": "eve"}),
        "reversed": people.start_at({"age": 51}).end_at({"age": 20}),
        "limit": people.limit(2),
        "limit of none": people.limit(0),
        "limit of many": people.limit(100),
        "limit to last": people.limit_to_last(2),
        "limit to last with cursors": people.start_at({"age": 20}).end_before({"age": 51}).limit_to_last(2),
        "offset": people.offset(2),
        "offset and limit": people.offset(1).limit(2),
        "offset of all": people.offset(100),
        "offset with a cursor": people.start_after(bob).offset(1),
    })


@step("queries/projections")
async def projections(scope):
    await scope.fill(PEOPLE)
    people = where(scope.collection(), Field("age", "==", 20))
    return {
        "field": await wait(people.select(["age"]).get()),
        "nested": await wait(people.select(["in.rank", "town"]).get()),
        "absent": await wait(people.select(["absent"]).get()),
        "names only": await wait(people.select(["__name__"]).get()),
        "no fields": await wait(people.select([]).get()),
    }


@step("queries/collection groups")
async def groups(scope):
    group = f"g{scope.run}"
    for path, number in [("x", 1), ("x/y/z", 2), ("z", 3), ("x/y/w/v/u", 4)]:
        await wait(scope.root.collection("top").document(path).collection(group).document("d").set({"n": number}))
    await wait(scope.root.collection(group).document("top").set({"n": 5, "m": 1}))
    await wait(scope.root.collection(f"{group}x").document("other").set({"n": 6}))
    query = scope.client.collection_group(group)
    paths = lambda snapshots: [snapshot.reference.path for snapshot in snapshots]
    return {
        "all": paths(await wait(query.get())),
        "filter": paths(await wait(where(query, Field("n", ">", 2)).get())),
        "order": paths(await wait(query.order_by("n", direction=firestore.Query.DESCENDING).limit(2).get())),
        "cursor": paths(await wait(query.order_by("n").start_after({"n": 2}).get())),
        "count": (await wait(query.count().get()))[0][0].value,
    }


@step("queries/all collections below")
async def below(scope):
    for path in ["x", "x/y/z", "x/y/z/u/v", "z"]:
        await wait(scope.root.collection("top").document(path).set({"n": 1}))
    await wait(scope.root.collection("other").document("x").set({"n": 1}))
    found = await wait(scope.root.collection("top").recursive().get())
    return [snapshot.reference.path for snapshot in found]


@step("queries/names")
async def names(scope):
    await scope.fill(PEOPLE)
    people, name = scope.collection(), FieldPath.document_id()
    of = scope.document
    return await answers(scope, {
        "equal": where(people, Field(name, "==", of("eve"))),
        "in": where(people, Field(name, "in", [of("gus"), of("ada"), of("none")])),
        "range": where(people, Field(name, ">=", of("cyd")), Field(name, "<", of("fay"))),
        "not": where(people, Field(name, "!=", of("eve"))),
        "not in": where(people, Field(name, "not-in", [of("eve"), of("ada")])),
        "with a filter": where(people, Field("town", "==", "London"), Field(name, ">", of("ada"))),
    })


@step("queries/that are refused")
async def refused(scope):
    await scope.fill({"a": {"n": 1}})
    c = scope.collection()
    many = [Field("n", "==", number) for number in range(31)]
    return await answers(scope, {
        "31 alternatives": where(c, Or(many)),
        "31 values": where(c, Field("n", "in", list(range(31)))),
        "no values": where(c, Field("n", "in", [])),
        "11 values not": where(c, Field("n", "not-in", list(range(11)))),
        "two array filters": where(c, Field("n", "array_contains", 1), Field("n", "array_contains", 2)),
        "two inequalities not": where(c, Field("n", "!=", 1), Field("n", "not-in", [2])),
        "not in and in": where(c, Field("n", "not-in", [2]), Field("m", "in", [1])),
        "name with a text": where(c, Field("__name__", "==", "")),
        "reserved field": where(c, Field("__x__", "==", 1)),
        "negative limit": c.limit(-1),
        "negative offset": c.offset(-1),
        "cursor with too many values": c.order_by("n").start_at([1, 2, 3]),
    })


@step("queries/vectors")
async def vectors(scope):
    await scope.fill({
        "a": {"v": Vector([1.0, 0.0])}, "b": {"v": Vector([0.0, 2.0])}, "c": {"v": Vector([3.0, 3.0])},
        "d": {"v": [1.0, 0.0]}})
    results = {"equal": ids(await wait(where(scope.collection(), Field("v", "==", Vector([0.0, 2.0]))).get()))}
    for measure in DistanceMeasure:
        query = scope.collection().find_nearest(
            "v", Vector([1.0, 1.0]), distance_measure=measure, limit=2, distance_result_field="distance")
        results[measure.name] = await scope.refusal(lambda: query.get())
    return results


@step("queries/plans")
async def plans(scope):
    await scope.fill({"a": {"n": 1}})
    options = firestore.ExplainOptions(analyze=True)

    async def explained():
        found = await wait(scope.collection().get(explain_options=options))
        return [len(found), found.get_explain_metrics().execution_stats.results_returned]

    return await scope.refusal(explained)
