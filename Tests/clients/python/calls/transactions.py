"""Transactions of the client library, also under contention."""

import asyncio
import concurrent.futures

from google.cloud import firestore

from steps import ASYNC, BLOCKING, step, wait

WRITERS, ROUNDS, ATTEMPTS = 8, 5, 60
# The emulator fails some of these transactions after minutes: its locks wait for each other.
ALL_COUNTED = {"failures": [], "count": WRITERS * ROUNDS}


async def run(scope, body, **options):
    """Runs `body`, a coroutine function, in a transaction of either client."""
    transaction = scope.client.transaction(**options)
    if scope.is_async:
        return await firestore.async_transactional(body)(transaction)

    def blocking(transaction):
        # Nothing in `body` suspends, because `wait` of the blocking client does not.
        try:
            body(transaction).send(None)
        except StopIteration as end:
            return end.value

    return firestore.transactional(blocking)(transaction)


@step("transactions/read and write")
async def read_and_write(scope):
    await scope.fill({"a": {"n": 1}, "b": {"n": 10}, "c": {"n": 3}})

    async def body(transaction):
        read = await wait(scope.document("a").get(transaction=transaction))
        several = await wait(scope.client.get_all([scope.document("a"), scope.document("b")], transaction=transaction))
        found = await wait(transaction.get(scope.collection().where(filter=firestore.FieldFilter("n", ">", 2))))
        sum_ = sum([snapshot.get("n") for snapshot in several])
        transaction.set(scope.document("sum"), {"n": sum_})
        transaction.update(scope.document("a"), {"n": read.get("n") + 1})
        transaction.create(scope.document("new"), {"n": 0})
        transaction.delete(scope.document("c"))
        return [len(several), sorted(snapshot.id for snapshot in found)]

    return [await run(scope, body), await wait(scope.collection().get())]


@step("transactions/rollback after an error")
async def rollback(scope):
    await scope.fill({"a": {"n": 1}})

    async def body(transaction):
        await wait(scope.document("a").get(transaction=transaction))
        transaction.update(scope.document("a"), {"n": 2})
        raise KeyError("on purpose")

    try:
        await run(scope, body)
        error = None
    except KeyError as raised:
        error = str(raised)
    return [error, await scope.get(scope.document("a"))]


@step("transactions/a write that fails")
async def failing(scope):
    await scope.fill({"a": {"n": 1}})

    async def body(transaction):
        await wait(scope.document("a").get(transaction=transaction))
        transaction.set(scope.document("b"), {"n": 1})
        transaction.create(scope.document("a"), {"n": 2})

    try:
        await run(scope, body)
        error = None
    except Exception as raised:
        error = scope.recorder.error(raised)
    return [error, await wait(scope.collection().get())]


@step("transactions/read only")
async def read_only(scope):
    await scope.fill({"a": {"n": 1}})

    async def reading(transaction):
        before = await wait(scope.document("a").get(transaction=transaction))
        await wait(scope.document("a").update({"n": firestore.Increment(1)}))
        after = await wait(scope.document("a").get(transaction=transaction))
        count = await wait(scope.collection().count().get(transaction=transaction))
        return [before.get("n"), after.get("n"), count[0][0].value]

    async def writing(transaction):
        transaction.set(scope.document("b"), {"n": 1})

    seen = await run(scope, reading, read_only=True)
    try:
        await run(scope, writing, read_only=True)
        error = None
    except Exception as raised:
        error = scope.recorder.error(raised)
    return [seen, error, await wait(scope.collection().get())]


@step("transactions/queries and aggregates inside")
async def inside(scope):
    await scope.fill({f"d{number}": {"n": number} for number in range(5)})

    async def body(transaction):
        query = scope.collection().order_by("n", direction="DESCENDING").limit(2)
        found = [snapshot.id for snapshot in await wait(query.stream(transaction=transaction))]
        sums = await wait(scope.collection().sum("n", alias="sum").get(transaction=transaction))
        transaction.set(scope.document("sum"), {"n": sums[0][0].value})
        return found

    return [await run(scope, body), await scope.get(scope.document("sum"))]


async def counted(scope, failures):
    return {
        "failures": [scope.recorder.error(failure) for failure in failures if failure],
        "count": (await scope.get(scope.document("counter"))).get("n"),
    }


def increment_blocking(scope, client):
    counter = client.document(scope.document("counter").path)

    @firestore.transactional
    def increment(transaction):
        count = counter.get(transaction=transaction).get("n")
        transaction.update(counter, {"n": count + 1})

    for _ in range(ROUNDS):
        increment(client.transaction(max_attempts=ATTEMPTS))


@step("transactions/contention of threads", [BLOCKING], expected=ALL_COUNTED)
async def threads(scope):
    await scope.fill({"counter": {"n": 0}})
    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        clients = [scope.server.client() for _ in range(WRITERS)]
        failures = [
            future.exception()
            for future in [pool.submit(increment_blocking, scope, client) for client in clients]
        ]
        for client in clients:
            client.close()
    return await counted(scope, failures)


@step("transactions/contention of tasks", [ASYNC], expected=ALL_COUNTED)
async def tasks(scope):
    await scope.fill({"counter": {"n": 0}})
    counter = scope.document("counter")

    @firestore.async_transactional
    async def increment(transaction):
        count = (await counter.get(transaction=transaction)).get("n")
        transaction.update(counter, {"n": count + 1})

    async def writer():
        for _ in range(ROUNDS):
            await increment(scope.client.transaction(max_attempts=ATTEMPTS))

    failures = await asyncio.gather(*[writer() for _ in range(WRITERS)], return_exceptions=True)
    return await counted(scope, failures)
