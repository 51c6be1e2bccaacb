"""The calls for single documents, which only the generated clients reach, and batches of independent writes."""

from steps import step, wait


def document(name=None, **numbers):
    fields = {key: {"integer_value": value} for key, value in numbers.items()}
    return {"name": name, "fields": fields} if name else {"fields": fields}


@step("raw/GetDocument")
async def get(scope):
    first = await wait(scope.document().set({"n": 1, "m": 2}))
    await wait(scope.document().update({"n": 3}))
    name = scope.name("c/a")
    return {
        "all": await scope.call("get_document", name=name),
        "mask": await scope.call("get_document", name=name, mask={"field_paths": ["n"]}),
        "read time": await scope.call("get_document", name=name, read_time=first.update_time),
        "missing": await scope.refusal(lambda: scope.call("get_document", name=scope.name("c/missing"))),
        "unknown transaction": await scope.refusal(
            lambda: scope.call("get_document", name=name, transaction=b"unknown")),
    }


@step("raw/CreateDocument")
async def create(scope):
    def call(**request):
        return lambda: scope.call("create_document", parent=scope.name(""), collection_id="c", **request)

    generated = await call(document=document(n=1))()
    return {
        "generated": [len(generated.name.split("/")[-1]), list(generated.fields)],
        "named": await call(document_id="named", document=document(n=2))(),
        "mask": await call(document_id="mask", document=document(n=2, m=3), mask={"field_paths": ["m"]})(),
        "again": await scope.refusal(call(document_id="named", document=document(n=4))),
        "with a name": await scope.refusal(
            call(document_id="x", document=document(name=scope.name("c/x"), n=4))),
        "invalid name": await scope.refusal(call(document_id="a/b", document=document(n=4))),
        "without a collection": await scope.refusal(
            lambda: scope.call("create_document", parent=scope.name(""), document=document(n=1))),
    }


@step("raw/UpdateDocument")
async def update(scope):
    def call(name, update_mask=None, mask=None, current=None, **numbers):
        request = {"document": document(name=scope.name(f"c/{name}"), **numbers)}
        for key, value in [("update_mask", update_mask), ("mask", mask)]:
            if value is not None:
                request[key] = {"field_paths": value}
        if current:
            request["current_document"] = current
        return lambda: scope.call("update_document", **request)

    return {
        "new": await call("a", n=1, m=2)(),
        "mask": await call("a", update_mask=["n"], n=5, m=9)(),
        "mask of an absent field": await call("a", update_mask=["m", "none"])(),
        "answer's mask": await call("a", update_mask=["m"], mask=["m"], m=7)(),
        "replaced": await call("a", k=1)(),
        "must exist": await scope.refusal(call("b", current={"exists": True}, n=1)),
        "must be missing": await scope.refusal(call("a", current={"exists": False}, n=1)),
        "invalid mask": await scope.refusal(call("a", update_mask=["a..b"], n=1)),
        "documents": await wait(scope.collection().get()),
    }


@step("raw/DeleteDocument")
async def delete(scope):
    await wait(scope.document().set({"n": 1}))

    def call(name, **request):
        return lambda: scope.call("delete_document", name=scope.name(f"c/{name}"), **request)

    return {
        "must be missing": await scope.refusal(call("a", current_document={"exists": False})),
        "deleted": await call("a")(),
        "again": await call("a")(),
        "must exist": await scope.refusal(call("a", current_document={"exists": True})),
        "left": await wait(scope.collection().get()),
    }


async def pages(scope, method, field, **request):
    """Returns the pages of a list: names of documents, or ids of collections."""
    result, token = [], ""
    while True:
        page = await scope.page(method, **request, page_token=token)
        result.append([getattr(entry, "name", entry) for entry in getattr(page, field)])
        token = page.next_page_token
        if not token:
            return result


@step("raw/ListDocuments")
async def list_documents(scope):
    await scope.fill({f"d{number}": {"n": 10 - number, "m": number} for number in range(7)})
    await wait(scope.document("phantom").collection("below").document("x").set({"n": 1}))
    request = {"parent": scope.name(""), "collection_id": "c"}
    joined = lambda pages: [name for page in pages for name in page]
    first = await scope.page("list_documents", **request, page_size=2, mask={"field_paths": ["m"]})
    return {
        "pages": joined(await pages(scope, "list_documents", "documents", **request, page_size=3)),
        "missing": joined(
            await pages(scope, "list_documents", "documents", **request, page_size=3, show_missing=True)),
        "ordered": joined(await pages(scope, "list_documents", "documents", **request, order_by="n")),
        "ordered pages": await scope.refusal(
            lambda: pages(scope, "list_documents", "documents", **request, page_size=3, order_by="n")),
        "mask": list(first.documents),
        "has a next page": first.next_page_token != "",
        "of nothing": await scope.page("list_documents", parent=scope.name(""), collection_id="none"),
        "invalid token": await scope.refusal(
            lambda: scope.page("list_documents", **request, page_token="invalid")),
        "missing and ordered": await scope.refusal(
            lambda: scope.page("list_documents", **request, show_missing=True, order_by="n")),
    }


@step("raw/ListCollectionIds")
async def list_collection_ids(scope):
    for name in ["one", "two", "three", "four"]:
        await wait(scope.document("a", name).set({"n": 1}))
    found = await pages(scope, "list_collection_ids", "collection_ids", parent=scope.name(""), page_size=3)
    return {
        "all": sorted(name for page in found for name in page),
        "largest page": max(len(page) for page in found) <= 3,
        "of nothing": await pages(scope, "list_collection_ids", "collection_ids", parent=scope.name("c/none")),
    }


@step("raw/BatchWrite")
async def batch_write(scope):
    await scope.fill({"there": {"n": 1}})
    writes = [
        {"update": document(name=scope.name("c/new"), n=1), "current_document": {"exists": False}},
        {"update": document(name=scope.name("c/there"), n=2), "current_document": {"exists": False}},
        {"delete": scope.name("c/missing"), "current_document": {"exists": True}},
        {"update": document(name=scope.name("c/set"), n=3)},
    ]
    answer = await scope.call("batch_write", database=scope.database, writes=writes)
    twice = [{"update": document(name=scope.name("c/x"), n=1)}, {"delete": scope.name("c/x")}]
    return {
        "codes": [status.code for status in answer.status],
        "results": [bool(result.update_time) for result in answer.write_results],
        "one document twice": await scope.refusal(
            lambda: scope.call("batch_write", database=scope.database, writes=twice)),
        "documents": await wait(scope.collection().get()),
        "none": await scope.call("batch_write", database=scope.database, writes=[]),
    }


@step("raw/BatchGetDocuments")
async def batch_get(scope):
    await scope.fill({"a": {"n": 1}, "b": {"n": 2}})
    names = [scope.name(f"c/{name}") for name in ["b", "missing", "a"]]
    answers = await scope.call("batch_get_documents", database=scope.database, documents=names)
    found = [answer.found.name for answer in answers if "found" in answer]
    begun = await scope.call("batch_get_documents", database=scope.database, documents=names, new_transaction={})
    token = next(answer.transaction for answer in begun if answer.transaction)
    await scope.call("rollback", database=scope.database, transaction=token)
    return {
        "found": sorted(found),
        "missing": [answer.missing for answer in answers if "missing" in answer],
        "times": all(answer.read_time for answer in answers),
        "one time": len({answer.read_time.rfc3339() for answer in answers}),
        "transaction": len(token) > 0,
        "first answer has it": bool(begun[0].transaction),
        "none": len(await scope.call("batch_get_documents", database=scope.database, documents=[])),
        "another database": await scope.refusal(
            lambda: scope.call(
                "batch_get_documents", database=scope.database,
                documents=["projects/other/databases/(default)/documents/a/b"])),
    }
