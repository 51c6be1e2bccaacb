"""Writes: create, set, merge, update, delete, batches and bulk writers."""

from google.cloud import firestore

from steps import BLOCKING, step, wait

SEED = {"n": 1, "in": {"a": 1, "b": {"c": 2, "d": 3}}, "dot.ted": 4, "list": [1, 2]}


@step("writes/create")
async def create(scope):
    await wait(scope.document().create({"n": 1}))
    return {
        "again": await scope.refusal(lambda: scope.document().create({"n": 2})),
        "document": await scope.get(scope.document()),
        "empty": await wait(scope.document("empty").create({})) and await scope.get(scope.document("empty")),
    }


@step("writes/set")
async def set_(scope):
    results = {}

    async def try_(name, data, **options):
        await wait(scope.document(name).set(SEED))
        await wait(scope.document(name).set(data, **options))
        results[name] = (await scope.get(scope.document(name))).to_dict()

    await try_("replace", {"m": 1})
    await try_("merge", {"m": 1, "in": {"b": {"e": 5}}}, merge=True)
    await try_("merge of an empty map", {"in": {}}, merge=True)
    await try_("merge of fields", {"n": 7, "in": {"a": 8, "b": 9}, "m": 6}, merge=["n", "in.a"])
    await try_("merge that deletes", {"n": firestore.DELETE_FIELD, "in": {"a": firestore.DELETE_FIELD}}, merge=True)
    await wait(scope.document("new").set({"a": {"b": 1}}, merge=True))
    results["merge of nothing"] = (await scope.get(scope.document("new"))).to_dict()
    return results


@step("writes/update")
async def update(scope):
    results = {}

    async def try_(name, data):
        await wait(scope.document(name).set(SEED))
        await wait(scope.document(name).update(data))
        results[name] = (await scope.get(scope.document(name))).to_dict()

    await try_("field", {"n": 2})
    await try_("dots", {"in.b.c": "two", "in.new.x": 1})
    await try_("map", {"in": {"z": 1}})
    await try_("quoted", {"`dot.ted`": 5, "in.`a b`": 6})
    await try_("delete", {"n": firestore.DELETE_FIELD, "in.b.d": firestore.DELETE_FIELD, "none": firestore.DELETE_FIELD})
    await try_("through a value", {"n.m": 1})
    await try_("many", {"n": 3, "in.a": 4, "list": []})
    results["missing"] = await scope.refusal(lambda: scope.document("missing").update({"n": 1}))
    results["paths that contain each other"] = await scope.refusal(
        lambda: scope.document("field").update({"in": {}, "in.a": 1}))
    return results


@step("writes/delete")
async def delete(scope):
    await wait(scope.document().set({"n": 1}))
    await wait(scope.document().collection("below").document("b").set({"n": 2}))
    await wait(scope.document().delete())
    await wait(scope.document("never").delete())
    return [await scope.get(scope.document()), await scope.get(scope.document().collection("below").document("b"))]


@step("writes/batch")
async def batch(scope):
    await scope.fill({"update": {"n": 1}, "delete": {"n": 1}, "merge": {"n": 1}})
    batch = scope.client.batch()
    batch.create(scope.document("create"), {"n": 2})
    batch.set(scope.document("set"), {"n": 2})
    batch.set(scope.document("merge"), {"m": 2}, merge=True)
    batch.update(scope.document("update"), {"n": firestore.Increment(5)})
    batch.delete(scope.document("delete"))
    results = await wait(batch.commit())
    empty = await wait(scope.client.batch().commit())
    return {
        "results": len(results),
        "one time": len({result.update_time for result in results if result.update_time}),
        "documents": await wait(scope.collection().get()),
        "empty": len(empty),
    }


@step("writes/batch is atomic")
async def atomic(scope):
    await scope.fill({"there": {"n": 1}})
    batch = scope.client.batch()
    batch.set(scope.document("new"), {"n": 2})
    batch.update(scope.document("missing"), {"n": 2})
    batch.delete(scope.document("there"))
    return {"refusal": await scope.refusal(batch.commit), "documents": await wait(scope.collection().get())}


@step("writes/one document several times in a batch")
async def repeated(scope):
    batch = scope.client.batch()
    batch.set(scope.document(), {"n": 1})
    batch.update(scope.document(), {"m": 2})
    batch.update(scope.document(), {"n": firestore.Increment(10)})
    results = await wait(batch.commit())
    return [len(results), await scope.get(scope.document())]


@step("writes/batch of 501 documents")
async def large(scope):
    await scope.fill({f"d{number:03}": {"n": number} for number in range(501)})
    return (await wait(scope.collection().count().get()))[0][0].value


@step("writes/bulk writer", [BLOCKING])
async def bulk(scope):
    await scope.fill({"there": {"n": 1}, "old": {"n": 1}})
    succeeded, failed = [], []
    writer = scope.client.bulk_writer()
    writer.on_write_result(lambda reference, result, writer: succeeded.append(reference.id))
    writer.on_write_error(lambda error, writer: failed.append([error.operation.reference.id, error.code]))
    for number in range(45):
        writer.create(scope.document(f"d{number:02}"), {"n": number})
    writer.create(scope.document("there"), {"n": 2})
    writer.update(scope.document("missing"), {"n": 2})
    writer.delete(scope.document("old"))
    writer.set(scope.document("set"), {"n": 3})
    # The batches of a writer are sent at the same time.
    writer.flush()
    writer.update(scope.document("d00"), {"n": 100})
    writer.close()
    return {
        "succeeded": sorted(succeeded),
        "failed": sorted(failed),
        "documents": [[snapshot.id, snapshot.to_dict()] for snapshot in await wait(scope.collection().get())],
    }


@step("writes/recursive_delete")
async def recursive(scope):
    await scope.fill({f"d{number}": {"n": number} for number in range(7)})
    for number in range(3):
        await wait(scope.document(f"d{number}").collection("below").document("x").set({"n": number}))
    await wait(scope.document("stays", "other").set({"n": 1}))
    count = await wait(scope.client.recursive_delete(scope.collection()))
    return {
        "count": count,
        "left": await wait(scope.collection().get()),
        "below": await wait(scope.document("d1").collection("below").get()),
        "other": await wait(scope.collection("other").get()),
    }
