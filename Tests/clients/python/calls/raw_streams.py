"""The streams Write and Listen as messages."""

import queue

import grpc

from steps import BLOCKING, step, wait

SECONDS_MAX = 60


class Stream:
    """A stream in both directions: sends requests from a queue, and receives one answer after the other."""

    def __init__(self, scope, method, seconds=SECONDS_MAX):
        self.requests = queue.Queue()
        # The method of the generated client would wait for the first answer before it returns.
        self.answers = getattr(scope.api.transport, method)(
            iter(self.requests.get, None), metadata=scope.metadata, timeout=seconds)

    def send(self, **request):
        self.requests.put(request)

    def receive(self):
        return next(self.answers)

    def end(self):
        """Sends no more, and returns the number of answers that are left."""
        self.requests.put(None)
        return len(list(self.answers))

    def cancel(self):
        self.requests.put(None)
        self.answers.cancel()


def set_(scope, name, number, **precondition):
    write = {"update": {"name": scope.name(f"c/{name}"), "fields": {"n": {"integer_value": number}}}}
    return {**write, "current_document": precondition} if precondition else write


@step("raw/Write", [BLOCKING])
async def writes(scope):
    stream = Stream(scope, "write")
    stream.send(database=scope.database)
    first = stream.receive()
    token = first.stream_token
    stream.send(stream_token=token, writes=[set_(scope, "a", 1), set_(scope, "b", 2)])
    stream.send(stream_token=token, writes=[set_(scope, "a", 3)])
    stream.send(stream_token=token, writes=[
        {"transform": {
            "document": scope.name("c/a"),
            "field_transforms": [{"field_path": "n", "increment": {"integer_value": 4}}]}}])
    answers = [stream.receive() for _ in range(3)]
    stream.send(stream_token=answers[-1].stream_token)
    return {
        "handshake": [bool(token), len(first.write_results)],
        "results": [
            [len(answer.write_results), bool(answer.commit_time), bool(answer.stream_token)] for answer in answers],
        "transform": answers[2].write_results[0],
        "times advance": answers[0].commit_time < answers[1].commit_time < answers[2].commit_time,
        "end": stream.end(),
        "documents": await wait(scope.collection().get()),
    }


@step("raw/Write that fails", [BLOCKING])
async def failing(scope):
    def handshake():
        stream = Stream(scope, "write")
        stream.send(database=scope.database)
        return stream, stream.receive().stream_token

    stream, token = handshake()
    stream.send(stream_token=token, writes=[set_(scope, "a", 1)])
    stream.receive()
    stream.send(stream_token=token, writes=[set_(scope, "a", 2), set_(scope, "b", 2, exists=True)])
    failed = await scope.refusal(stream.receive)
    stream.cancel()
    results = {"precondition": failed}
    for name, requests in {
            "token in the handshake": [{"database": scope.database, "stream_token": b"token"}],
            "writes in the handshake": [{"database": scope.database, "writes": [set_(scope, "x", 1)]}],
            "no database": [{}], "unknown database": [{"database": "projects/p"}]}.items():
        stream = Stream(scope, "write")
        for request in requests:
            stream.send(**request)
        results[name] = await scope.refusal(lambda: stream.receive() and "answer")
        stream.cancel()
    stream, token = handshake()
    stream.send(stream_token=b"unknown", writes=[set_(scope, "c", 1)])
    results["unknown token"] = await scope.refusal(lambda: stream.receive() and "answer")
    stream.cancel()
    results["documents"] = await wait(scope.collection().get())
    return results


class Targets:
    """Applies the messages of a watch stream, as a client does, and returns states instead of messages.

    Servers may send deltas or whole answers, and may send the same state again. The states are the same.
    """

    def __init__(self, scope, seconds=SECONDS_MAX):
        self.scope = scope
        self.stream = Stream(scope, "listen", seconds)
        self.documents = {}
        # Documents of targets that are added with a token.
        self.kept = {}
        self.current = set()
        self.ended = {}
        self.tokens = {}

    def add(self, id_, **target):
        self.stream.send(database=self.scope.database, add_target={"target_id": id_, **target})

    def query(self, id_, collection="c", **others):
        query = {"from_": [{"collection_id": collection}], **others.pop("query", {})}
        self.add(id_, query={"parent": self.scope.name(""), "structured_query": query}, **others)

    def remove(self, id_):
        self.stream.send(database=self.scope.database, remove_target=id_)

    def until(self, condition):
        """Receives until a snapshot of all targets meets the condition, and returns the state of all targets."""
        while True:
            answer = self.stream.receive()
            if self.apply(answer) and condition(self):
                return self.state()

    def state(self):
        return {
            str(id_): [
                [name, document.fields["n"].integer_value] for name, document in sorted(documents.items())]
            for id_, documents in sorted(self.documents.items())}

    def shows(self, id_, **numbers):
        documents = {
            name.rsplit("/", 1)[1]: document.fields["n"].integer_value
            for name, document in self.documents.get(id_, {}).items()}
        return id_ in self.current and documents == numbers

    def apply(self, answer):
        """Returns true if the message ends a snapshot, or a target."""
        if "target_change" in answer:
            change = answer.target_change
            ids = list(change.target_ids)
            kind = change.target_change_type.name
            for id_ in ids or list(self.documents):
                if kind == "ADD":
                    self.documents[id_] = self.kept.get(id_, {})
                elif kind == "RESET":
                    self.documents[id_] = {}
                    self.current.discard(id_)
                elif kind == "CURRENT":
                    self.current.add(id_)
                elif kind == "REMOVE":
                    self.documents.pop(id_, None)
                    self.current.discard(id_)
                    self.ended[id_] = change.cause
                if change.resume_token:
                    self.tokens[id_] = change.resume_token
            return kind == "REMOVE" or (kind == "NO_CHANGE" and not ids and bool(change.read_time))
        for field, name in [
                ("document_change", lambda change: change.document.name),
                ("document_delete", lambda change: change.document),
                ("document_remove", lambda change: change.document)]:
            if field in answer:
                change = getattr(answer, field)
                for id_ in getattr(change, "target_ids", []):
                    self.documents.setdefault(id_, {})[name(change)] = change.document
                for id_ in change.removed_target_ids:
                    self.documents.get(id_, {}).pop(name(change), None)
        return False


@step("raw/Listen", [BLOCKING])
async def listen(scope):
    await scope.fill({"a": {"n": 1}, "b": {"n": 2}})
    targets = Targets(scope)
    states = []
    targets.query(2)
    states.append(targets.until(lambda targets: targets.shows(2, a=1, b=2)))
    targets.add(4, documents={"documents": [scope.name("c/a"), scope.name("c/missing")]})
    states.append(targets.until(lambda targets: targets.shows(4, a=1)))
    targets.query(6, query={
        "order_by": [{"field": {"field_path": "n"}, "direction": "DESCENDING"}], "limit": {"value": 1}})
    states.append(targets.until(lambda targets: targets.shows(6, b=2)))
    await wait(scope.document("a").set({"n": 3}))
    states.append(targets.until(
        lambda targets: targets.shows(2, a=3, b=2) and targets.shows(4, a=3) and targets.shows(6, a=3)))
    await wait(scope.document("missing").set({"n": 4}))
    states.append(targets.until(
        lambda targets: targets.shows(2, a=3, b=2, missing=4) and targets.shows(4, a=3, missing=4)
        and targets.shows(6, missing=4)))
    await wait(scope.document("a").delete())
    states.append(targets.until(
        lambda targets: targets.shows(2, b=2, missing=4) and targets.shows(4, missing=4)))
    targets.remove(2)
    states.append(targets.until(lambda targets: 2 in targets.ended))
    await wait(scope.document("b").set({"n": 5}))
    states.append(targets.until(lambda targets: targets.shows(6, b=5)))
    # The id of a removed target can be used again.
    targets.query(2, query={"limit": {"value": 1}})
    states.append(targets.until(lambda targets: targets.shows(2, b=5)))
    targets.stream.cancel()
    return states


@step("raw/Listen once", [BLOCKING])
async def once(scope):
    await scope.fill({"a": {"n": 1}})
    # The emulator never ends the target.
    targets = Targets(scope, seconds=5)
    targets.query(2, once=True)
    shown = targets.until(lambda targets: targets.shows(2, a=1) or 2 in targets.ended)
    try:
        targets.until(lambda targets: 2 in targets.ended)
        end = {"code": targets.ended[2].code}
    except grpc.RpcError as error:
        end = scope.recorder.error(error)
    targets.stream.cancel()
    return {"shown": shown, "end": end}


@step("raw/Listen without an id, and again with a token", [BLOCKING])
async def resumed(scope):
    await scope.fill({"a": {"n": 1}})
    targets = Targets(scope)
    targets.query(0)
    targets.until(lambda targets: len(targets.current) == 1)
    (chosen,) = targets.current
    token = targets.tokens[chosen]
    targets.stream.cancel()
    await wait(scope.document("b").set({"n": 2}))
    # A server that knows the token sends only the change, and one that does not sends everything.
    again = Targets(scope)
    again.kept[4] = dict(targets.documents[chosen])
    again.query(4, resume_token=token)
    return [chosen != 0, list(targets.documents[chosen]), again.until(lambda targets: targets.shows(4, a=1, b=2))]


@step("raw/Listen with targets that are refused", [BLOCKING])
async def refused(scope):
    await scope.fill({"a": {"n": 1}})

    async def refusal(**target):
        targets = Targets(scope)
        try:
            targets.query(2)
            targets.until(lambda targets: targets.shows(2, a=1))
            targets.add(4, **target)
            targets.until(lambda targets: 4 in targets.ended)
            answer = {"code": targets.ended[4].code, "message": targets.ended[4].message}
            await wait(scope.document("a").update({"n": 2}))
            targets.until(lambda targets: targets.shows(2, a=2))
            return {**answer, "stream": "stays"}
        except grpc.RpcError as error:
            return scope.recorder.error(error)
        finally:
            await wait(scope.document("a").update({"n": 1}))
            targets.stream.cancel()

    query = lambda **fields: {"parent": scope.name(""), "structured_query": {"from_": [{"collection_id": "c"}], **fields}}
    results = {
        "invalid query": await refusal(query=query(where={"field_filter": {
            "field": {"field_path": "n"}, "op": "IN", "value": {"array_value": {}}}})),
        "offset": await refusal(query=query(offset=-1)),
        "invalid name": await refusal(documents={"documents": ["a/b"]}),
        "neither": await refusal(),
    }
    for name, request in {
            "no database": {"add_target": {"target_id": 2}},
            "neither target": {"database": scope.database},
            "unknown target removed": {"database": scope.database, "remove_target": 77}}.items():
        stream = Stream(scope, "listen")
        stream.send(**request)
        stream.requests.put(None)
        results[name] = await scope.refusal(lambda: [bool(answer) for answer in stream.answers])
        stream.cancel()
    return results
