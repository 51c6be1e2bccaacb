"""Queries, aggregations and partitions as messages."""

import google.api_core.exceptions as exceptions
import grpc
from steps import BLOCKING, step, wait


def from_(collection, **others):
    return {"from_": [{"collection_id": collection}], **others}


@step("raw/RunQuery")
async def run_query(scope):
    await scope.fill({f"d{number}": {"n": number} for number in range(5)})

    async def run(query, **request):
        return await scope.call("run_query", parent=scope.name(""), structured_query=query, **request)

    ordered = from_("c", order_by=[{"field": {"field_path": "n"}, "direction": "ASCENDING"}])
    answers = await run({**ordered, "offset": 2, "limit": {"value": 2}})
    nothing = await run(from_("none"))
    begun = await run(ordered, new_transaction={"read_only": {}})
    token = next(answer.transaction for answer in begun if answer.transaction)
    again = await run(ordered, transaction=token)
    return {
        "documents": [answer.document.name for answer in answers if answer.document.name],
        "skipped": sum(answer.skipped_results for answer in answers),
        "times": all(answer.read_time for answer in answers),
        "nothing": [[answer.document.name, bool(answer.read_time)] for answer in nothing],
        "in a transaction": [answer.document.name for answer in again if answer.document.name],
        "no collection": await scope.refusal(lambda: run({"limit": {"value": 1}})),
        "two collections": await scope.refusal(
            lambda: run({"from_": [{"collection_id": "a"}, {"collection_id": "b"}]})),
        "cursor without an order": await scope.refusal(
            lambda: run(from_("c", start_at={"values": [{"integer_value": 1}, {"integer_value": 2}]}))),
        "unknown parent": await scope.refusal(
            lambda: scope.call("run_query", parent="projects/p", structured_query=from_("c"))),
        "no query": await scope.refusal(lambda: scope.call("run_query", parent=scope.name(""))),
    }


@step("raw/RunAggregationQuery")
async def run_aggregation(scope):
    await scope.fill({f"d{number}": {"n": number} for number in range(5)})

    async def run(*aggregations, query=None, **request):
        answers = await scope.call(
            "run_aggregation_query", parent=scope.name(""),
            structured_aggregation_query={
                "structured_query": query or from_("c"), "aggregations": list(aggregations)}, **request)
        return [answer.result for answer in answers]

    field = {"field": {"field_path": "n"}}
    count = lambda up_to: {"alias": "count", "count": {"up_to": {"value": up_to}}}
    six = [{"alias": f"a{number}", "count": {}} for number in range(6)]
    return {
        "up to 3": await run(count(3)),
        "up to 100": await run(count(100)),
        "up to 0": await scope.refusal(lambda: run(count(0))),
        "all": await run({"alias": "s", "sum": field}, {"alias": "a", "avg": field}, {"alias": "c", "count": {}}),
        "no name": await run({"count": {}}),
        "of two documents": await run({"alias": "s", "sum": field}, query=from_("c", limit={"value": 2})),
        "none": await scope.refusal(lambda: run()),
        "one name twice": await scope.refusal(lambda: run({"alias": "a", "count": {}}, {"alias": "a", "sum": field})),
        "invalid name": await scope.refusal(lambda: run({"alias": "__a__", "count": {}})),
        "six": await scope.refusal(lambda: run(*six)),
    }


# The emulator has no partitions. Their number is the server's choice. Together they have each document once, in order.
@step("raw/PartitionQuery", expected={"at most": True, "documents": [300, True]})
async def partitions(scope):
    group = f"g{scope.run}"
    batch = scope.client.batch()
    for number in range(300):
        batch.set(scope.root.collection(group).document(f"d{number:03}"), {"n": number})
    await wait(batch.commit())
    partitions = await wait(scope.client.collection_group(group).get_partitions(4))
    found = []
    for partition in partitions:
        found += [snapshot.id for snapshot in await wait(partition.query().get())]
    return {"at most": len(partitions) <= 5, "documents": [len(found), found == sorted(set(found))]}


@step("raw/unknown method", [BLOCKING])
async def unknown(scope):
    channel = scope.api.transport.grpc_channel
    call = channel.unary_unary(
        "/google.firestore.v1.Firestore/Nothing", request_serializer=bytes, response_deserializer=bytes)
    service = channel.unary_unary(
        "/google.firestore.v1.Nothing/Commit", request_serializer=bytes, response_deserializer=bytes)

    def sent(call, **options):
        def send():
            try:
                return call(b"", metadata=scope.metadata, timeout=30, **options)
            except grpc.RpcError as error:
                raise exceptions.from_grpc_error(error)

        return send

    return {
        "method": (await scope.refusal(sent(call))).get("error"),
        "service": (await scope.refusal(sent(service))).get("error"),
    }
