"""Counts, sums and averages."""

from google.cloud import firestore

from steps import step, wait

NUMBERS = {"a": {"n": 1, "x": 0.5}, "b": {"n": 2, "x": 0.25}, "c": {"n": 4}, "d": {"n": "text", "x": None}, "e": {"m": 1}}


def plain(results):
    return [[result.alias, result.value] for row in results for result in row]


async def get(query):
    return plain(await wait(query.get()))


@step("aggregations/counts")
async def counts(scope):
    await scope.fill(NUMBERS)
    c = scope.collection()
    return {
        "all": await get(c.count()),
        "alias": await get(c.count(alias="how many")),
        "filter": await get(c.where(filter=firestore.FieldFilter("n", ">", 1)).count()),
        "order": await get(c.order_by("n").count()),
        "limit": await get(c.limit(2).count()),
        "offset": await get(c.offset(2).count()),
        "of nothing": await get(scope.collection("none").count()),
        "streamed": plain(await wait(c.count().stream())),
    }


@step("aggregations/sums and averages")
async def sums(scope):
    await scope.fill(NUMBERS)
    await scope.fill({"a": {"n": 2**63 - 1}, "b": {"n": 1}}, "large")
    await scope.fill({"a": {"n": float("nan")}, "b": {"n": 1}}, "nan")
    await scope.fill({"a": {"n": 1}, "b": {"n": 2.0}}, "mixed")
    results = {}
    for collection in ["c", "large", "nan", "mixed", "none"]:
        query = scope.collection(collection)
        results[collection] = [await get(query.sum("n", alias="sum")), await get(query.avg("n", alias="avg"))]
    results["doubles"] = [await get(scope.collection().sum("x")), await get(scope.collection().avg("x"))]
    results["absent"] = [await get(scope.collection().sum("absent")), await get(scope.collection().avg("absent"))]
    results["nested"] = await get(scope.collection().sum("n.m"))
    return results


@step("aggregations/several")
async def several(scope):
    await scope.fill(NUMBERS)
    query = scope.collection().where(filter=firestore.FieldFilter("n", "<", 10))
    return {
        "all": sorted(await get(query.count(alias="c").sum("n", alias="s").avg("n", alias="a"))),
        "without names": sorted(await get(query.count().sum("n").avg("n"))),
        "five": sorted(await get(query.count("a").sum("n", "b").avg("n", "c").sum("x", "d").avg("x", "e"))),
        "an alias twice": await scope.refusal(query.count(alias="a").sum("n", alias="a").get),
    }
