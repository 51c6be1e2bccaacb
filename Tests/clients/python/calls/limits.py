"""Limits of documents, and requests that are refused."""

from google.cloud import firestore

from steps import step, wait

MEBIBYTE = 1 << 20


def nested(levels):
    value = 1
    for _ in range(levels):
        value = {"m": value}
    return value


@step("limits/sizes")
async def sizes(scope):
    await wait(scope.document().set({"text": "x" * (MEBIBYTE - 2000), "n": 1}))
    read = (await scope.get(scope.document())).to_dict()
    await wait(scope.document("bytes").set({"bytes": bytes(MEBIBYTE - 2000)}))
    return {
        "large": [len(read["text"]), read["n"]],
        "large bytes": len((await scope.get(scope.document("bytes"))).get("bytes")),
        "too large": await scope.refusal(lambda: scope.document("b").set({"text": "x" * MEBIBYTE})),
        "not written": await scope.get(scope.document("b")),
        "many fields": await scope.refusal(lambda: scope.document("many").set({f"f{n}": n for n in range(5000)})),
        "deep": await scope.refusal(lambda: scope.document("deep").set({"m": nested(19)})),
        "too deep": await scope.refusal(lambda: scope.document("deeper").set({"m": nested(20)})),
        "long field name": await scope.refusal(lambda: scope.document("n").set({"n" * 1500: 1})),
        "too long field name": await scope.refusal(lambda: scope.document("n").set({"n" * 1501: 1})),
    }


@step("limits/answers of many megabytes")
async def answers(scope):
    for number in range(12):
        await wait(scope.document(f"d{number:02}").set({"text": chr(97 + number) * 900_000, "n": number}))
    found = await wait(scope.collection().order_by("n").get())
    several = await wait(scope.client.get_all([scope.document(f"d{number:02}") for number in range(12)]))
    return [
        [[snapshot.id, snapshot.get("text")[:1], len(snapshot.get("text"))] for snapshot in found],
        sorted(len(snapshot.get("text")) for snapshot in several),
    ]


@step("limits/documents that are refused")
async def documents(scope):
    def set_(data, name="a"):
        return lambda: scope.document(name).set(data)

    return {
        "list in a list": await scope.refusal(set_({"list": [[1]]})),
        "reserved field": await scope.refusal(set_({"__x__": 1})),
        "reserved nested field": await scope.refusal(set_({"a": {"__x__": 1}})),
        "reserved name": await scope.refusal(set_({"n": 1}, "__x__")),
        "long name": await scope.refusal(set_({"n": 1}, "n" * 1501)),
        "dot": await scope.refusal(set_({"n": 1}, ".")),
        "dots": await scope.refusal(set_({"n": 1}, "..")),
        "invalid point": await scope.refusal(set_({"p": firestore.GeoPoint(91, 0)})),
        "nothing is written": await wait(scope.collection().get()),
    }


@step("limits/names that are refused")
async def names(scope):
    def get(name):
        return lambda: scope.call("get_document", name=name)

    return {
        "collection": await scope.refusal(get(f"{scope.database}/documents/a")),
        "empty segment": await scope.refusal(get(f"{scope.database}/documents/a//b/c")),
        "without documents": await scope.refusal(get(f"{scope.database}/a/b")),
        "empty": await scope.refusal(get("")),
        "slash at the end": await scope.refusal(get(scope.name("c/a/"))),
        "missing": await scope.refusal(get(scope.name("c/missing"))),
    }
