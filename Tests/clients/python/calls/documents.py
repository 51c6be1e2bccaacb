"""Reads: documents by name, lists of documents and of collections, read times."""

import datetime

from google.cloud import firestore

from steps import step, wait


@step("documents/get")
async def get(scope):
    await wait(scope.document().set({"n": 1, "in": {"a": 1, "b": 2}}))
    return [
        await scope.get(scope.document()),
        await scope.get(scope.document("missing")),
        await wait(scope.document().get(field_paths=["n"])),
        await wait(scope.document().get(field_paths=["in.a", "absent"])),
        await wait(scope.document().get(field_paths=["absent"])),
    ]


@step("documents/get_all")
async def get_all(scope):
    await scope.fill({"a": {"n": 1, "m": 1}, "b": {"n": 2, "m": 2}})
    references = [scope.document(name) for name in ["b", "missing", "a", "b"]]
    by_name = lambda snapshots: sorted(snapshots, key=lambda snapshot: snapshot.id)
    return [
        by_name(await wait(scope.client.get_all(references))),
        by_name(await wait(scope.client.get_all(references, field_paths=["m"]))),
        by_name(await wait(scope.client.get_all([]))),
    ]


@step("documents/read times")
async def read_times(scope):
    first = await wait(scope.document().set({"version": 1}))
    second = await wait(scope.document().set({"version": 2}))
    await wait(scope.document().delete())
    before = first.update_time - datetime.timedelta(microseconds=1)
    result = {
        "times advance": first.update_time < second.update_time,
        "before": await wait(scope.document().get(read_time=before)),
        "first": await wait(scope.document().get(read_time=first.update_time)),
        "second": await wait(scope.document().get(read_time=second.update_time)),
        "now": await wait(scope.document().get()),
        "query": await wait(scope.collection().get(read_time=first.update_time)),
        "get_all": await wait(scope.client.get_all([scope.document()], read_time=second.update_time)),
        "count": (await wait(scope.collection().count().get(read_time=first.update_time)))[0][0].value,
        "list": [
            reference.id
            for reference in await wait(scope.collection().list_documents(read_time=first.update_time))
        ],
    }
    snapshot = result["first"]
    result["the time of the snapshot is the one of the request"] = snapshot.read_time == first.update_time
    return result


@step("documents/read times that are refused")
async def refused_read_times(scope):
    await wait(scope.document().set({"n": 1}))
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "old": await scope.refusal(
            lambda: scope.document().get(read_time=now - datetime.timedelta(days=30))),
        "future": await scope.refusal(
            lambda: scope.document().get(read_time=now + datetime.timedelta(hours=1))),
    }


@step("documents/list_documents")
async def list_documents(scope):
    await scope.fill({f"d{number:02}": {"n": number} for number in range(12)})
    await wait(scope.document("phantom").collection("below").document("x").set({"n": 1}))
    await wait(scope.document("d03").collection("below").document("x").set({"n": 1}))
    return {
        "all": [reference.id for reference in await wait(scope.collection().list_documents())],
        "pages": [reference.id for reference in await wait(scope.collection().list_documents(page_size=5))],
        "of nothing": [reference.id for reference in await wait(scope.collection("none").list_documents())],
    }


@step("documents/collections")
async def collections(scope):
    await wait(scope.document("a", "rooms").set({"n": 1}))
    await wait(scope.document("a", "chairs").collection("legs").document("one").set({"n": 1}))
    await wait(scope.document("phantom", "deep").collection("er").document("one").set({"n": 1}))
    names = lambda collections: sorted(collection.id for collection in collections)
    return {
        "of a document": names(await wait(scope.root.collections())),
        "below": names(await wait(scope.document("a", "chairs").collections())),
        "below a phantom": names(await wait(scope.document("phantom", "deep").collections())),
        "of nothing": names(await wait(scope.document("nothing", "none").collections())),
        "of the database": "calls" in names(await wait(scope.client.collections())),
    }


@step("documents/exists and times")
async def times(scope):
    first = await wait(scope.document().set({"n": 1}))
    one = await scope.get(scope.document())
    second = await wait(scope.document().update({"n": 2}))
    two = await scope.get(scope.document())
    same = await wait(scope.document().set({"n": 2}))
    three = await scope.get(scope.document())
    return {
        "created": one.create_time == one.update_time == first.update_time,
        "updated": two.update_time == second.update_time > first.update_time,
        "creation is kept": two.create_time == one.create_time,
        "a read is not before the write": one.read_time >= one.update_time,
        "an equal document keeps its time": three.update_time == two.update_time,
        "and so does the result": same.update_time == two.update_time,
    }


@step("documents/generated ids")
async def generated(scope):
    time, reference = await wait(scope.collection().add({"n": 1}))
    named = (await wait(scope.collection().add({"n": 2}, document_id="named")))[1]
    return {
        "length": len(reference.id),
        "document": (await scope.get(reference)).to_dict(),
        "named": await scope.get(named),
        "again": await scope.refusal(lambda: scope.collection().add({"n": 3}, document_id="named")),
        "field path": firestore.Client.field_path("a", "b c"),
    }
