"""Preconditions of writes, met and not met."""

import datetime

from steps import step, wait


@step("preconditions/exists")
async def exists(scope):
    there, not_there = scope.client.write_option(exists=True), scope.client.write_option(exists=False)
    await scope.fill({"a": {"n": 1}, "b": {"n": 1}})
    return {
        "delete of a missing document": await scope.refusal(lambda: scope.document("missing").delete(there)),
        "delete of a document": await wait(scope.document("a").delete(there)),
        "delete if missing": await scope.refusal(lambda: scope.document("b").delete(not_there)),
        "documents": await wait(scope.collection().get()),
    }


@step("preconditions/last_update_time")
async def last_update_time(scope):
    first = await wait(scope.document().set({"n": 1}))
    second = await wait(scope.document().set({"n": 2}))
    stale = scope.client.write_option(last_update_time=first.update_time)
    fresh = scope.client.write_option(last_update_time=second.update_time)
    result = {
        "stale update": await scope.refusal(lambda: scope.document().update({"n": 3}, option=stale)),
        "stale delete": await scope.refusal(lambda: scope.document().delete(stale)),
        "of a missing document": await scope.refusal(lambda: scope.document("missing").delete(stale)),
        "unchanged": await scope.get(scope.document()),
    }
    third = await wait(scope.document().update({"n": 4}, option=fresh))
    result["used twice"] = await scope.refusal(lambda: scope.document().update({"n": 5}, option=fresh))
    await wait(scope.document().delete(scope.client.write_option(last_update_time=third.update_time)))
    result["deleted"] = await scope.get(scope.document())
    return result


@step("preconditions/of raw writes")
async def raw(scope):
    written = await wait(scope.document().set({"n": 1}))
    update = {"update": {"name": scope.name("c/a"), "fields": {"n": {"integer_value": 2}}}}
    missing = {"update": {"name": scope.name("c/missing"), "fields": {"n": {"integer_value": 2}}}}

    def commit(write, **precondition):
        return lambda: scope.call(
            "commit", database=scope.database, writes=[{**write, "current_document": precondition}])

    return {
        "set if missing": await scope.refusal(commit(update, exists=False)),
        "set if there": await scope.refusal(commit(missing, exists=True)),
        "time of a missing document": await scope.refusal(commit(missing, update_time=written.update_time)),
        "time in the future": await scope.refusal(
            commit(update, update_time=written.update_time + datetime.timedelta(days=1))),
        "unchanged": await scope.get(scope.document()),
        "met": await scope.refusal(commit(update, update_time=written.update_time)),
        "changed": await scope.get(scope.document()),
    }
