"""BeginTransaction, Commit and Rollback as messages."""

import datetime

from steps import step, wait


def write(scope, name, number):
    return {"update": {"name": scope.name(f"c/{name}"), "fields": {"n": {"integer_value": number}}}}


async def begin(scope, **options):
    return (await scope.call("begin_transaction", database=scope.database, options=options)).transaction


def commit(scope, token, *writes):
    return lambda: scope.call("commit", database=scope.database, transaction=token, writes=list(writes))


@step("raw/Commit")
async def commits(scope):
    token = await begin(scope, read_write={})
    await scope.refusal(lambda: scope.call("get_document", name=scope.name("c/missing"), transaction=token))
    answer = await commit(scope, token, write(scope, "a", 1), write(scope, "b", 2))()
    return {
        "results": len(answer.write_results),
        "time": bool(answer.commit_time),
        "closed": await scope.refusal(commit(scope, token, write(scope, "a", 3))),
        "unknown": await scope.refusal(commit(scope, b"unknown", write(scope, "a", 3))),
        "documents": await wait(scope.collection().get()),
        "no writes": len((await scope.call("commit", database=scope.database)).write_results),
        "unknown database": await scope.refusal(lambda: scope.call("commit", database="projects/p")),
        "other database": await scope.refusal(
            lambda: scope.call(
                "commit", database=scope.database,
                writes=[{"delete": "projects/other/databases/(default)/documents/a/b"}])),
        "empty write": await scope.refusal(lambda: scope.call("commit", database=scope.database, writes=[{}])),
    }


@step("raw/Rollback")
async def rollback(scope):
    await wait(scope.document().set({"n": 1}))
    token = await begin(scope, read_write={})
    await scope.call("get_document", name=scope.name("c/a"), transaction=token)
    await scope.call("rollback", database=scope.database, transaction=token)
    # A rollback gives up what the transaction has locked.
    await wait(scope.document().set({"n": 2}))
    return {
        "closed": await scope.refusal(commit(scope, token, write(scope, "a", 3))),
        "again": await scope.refusal(lambda: scope.call("rollback", database=scope.database, transaction=token)),
        "unknown": await scope.refusal(lambda: scope.call("rollback", database=scope.database, transaction=b"no")),
        "document": await scope.get(scope.document()),
    }


@step("raw/read-only transactions")
async def read_only(scope):
    first = await wait(scope.document().set({"n": 1}))
    await wait(scope.document().set({"n": 2}))
    now = await begin(scope, read_only={})
    past = await begin(scope, read_only={"read_time": first.update_time})
    read = lambda token: scope.call("get_document", name=scope.name("c/a"), transaction=token)
    before = await read(now)
    await wait(scope.document().set({"n": 3}))
    result = {
        "past": await read(past),
        "one snapshot": [before, await read(now)],
        "writes": await scope.refusal(commit(scope, past, write(scope, "a", 4))),
        "old": await scope.refusal(
            lambda: begin(scope, read_only={"read_time": first.update_time - datetime.timedelta(days=30)})),
        "document": await scope.get(scope.document()),
    }
    await scope.call("rollback", database=scope.database, transaction=now)
    return result


@step("raw/retry of a transaction")
async def retry(scope):
    await wait(scope.document().set({"n": 1}))
    first = await begin(scope, read_write={})
    await scope.call("rollback", database=scope.database, transaction=first)
    second = await begin(scope, read_write={"retry_transaction": first})
    read = await scope.call("get_document", name=scope.name("c/a"), transaction=second)
    await commit(scope, second, write(scope, "a", 2))()
    return [first != second, read, await scope.get(scope.document())]
