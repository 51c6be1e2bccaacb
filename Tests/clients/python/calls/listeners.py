"""Listeners of the client library: changes, lost connections, a restart of the server, the end."""

import queue
import socket
import subprocess
import threading

from google.api_core import exceptions, retry
from google.cloud import firestore

from steps import BLOCKING, step

SECONDS_MAX = 60


class Listener:
    """Puts each snapshot of a listener into a queue."""

    def __init__(self, target):
        self.snapshots = queue.Queue()
        self.watch = target.on_snapshot(self._receive)

    def _receive(self, documents, changes, read_time):
        self.snapshots.put({
            "documents": [[document.id, document.to_dict()] for document in documents],
            "changes": [
                [change.type.name, change.document.id, change.old_index, change.new_index] for change in changes],
        })

    def next(self):
        try:
            return self.snapshots.get(timeout=SECONDS_MAX)
        except queue.Empty:
            return "no snapshot in time"

    def until(self, name, fields):
        """Returns the first snapshot that shows the document with these fields."""
        while True:
            snapshot = self.next()
            if isinstance(snapshot, str) or [name, fields] in snapshot["documents"]:
                return snapshot

    def end(self):
        self.watch.unsubscribe()


@step("listeners/document", [BLOCKING])
async def document(scope):
    listener = Listener(scope.document())
    snapshots = [listener.next()]
    for write in [
            lambda: scope.document().set({"n": 1}),
            lambda: scope.document().update({"n": 2, "in": {"a": 1}}),
            lambda: scope.document().delete(),
            lambda: scope.document().create({"n": 3})]:
        write()
        snapshots.append(listener.next())
    listener.end()
    return snapshots


@step("listeners/collection", [BLOCKING])
async def collection(scope):
    scope.document("b").set({"n": 2})
    listener = Listener(scope.collection())
    snapshots = [listener.next()]
    for write in [
            lambda: scope.document("a").set({"n": 1}),
            lambda: scope.document("c").set({"n": 3}),
            lambda: scope.document("b").update({"n": 4}),
            lambda: scope.document("a").delete()]:
        write()
        snapshots.append(listener.next())
    batch = scope.client.batch()
    batch.set(scope.document("d"), {"n": 5})
    batch.delete(scope.document("b"))
    batch.update(scope.document("c"), {"n": 6})
    batch.commit()
    snapshots.append(listener.next())
    listener.end()
    return snapshots


@step("listeners/query", [BLOCKING])
async def query(scope):
    await scope.fill({"a": {"n": 1}, "b": {"n": 5}, "c": {"n": 9}})
    query = scope.collection().where(filter=firestore.FieldFilter("n", ">", 2)).order_by("n").limit(2)
    listener = Listener(query)
    snapshots = [listener.next()]
    for write in [
            # Enters in the first place, and the last one leaves.
            lambda: scope.document("a").update({"n": 3}),
            # The limit is filled again.
            lambda: scope.document("b").delete(),
            # Changes places.
            lambda: scope.document("a").update({"n": 10}),
            lambda: scope.document("a").update({"n": 0})]:
        write()
        snapshots.append(listener.next())
    listener.end()
    return snapshots


@step("listeners/collection group", [BLOCKING])
async def group(scope):
    collection = f"g{scope.run}"
    listener = Listener(scope.client.collection_group(collection))
    snapshots = [listener.next()]
    scope.root.collection("x").document("y").collection(collection).document("a").set({"n": 1})
    snapshots.append(listener.next())
    scope.root.collection(collection).document("b").set({"n": 2})
    snapshots.append(listener.next())
    listener.end()
    return snapshots


@step("listeners/end", [BLOCKING])
async def end(scope):
    ended, other = Listener(scope.collection()), Listener(scope.collection())
    first = [ended.next(), other.next()]
    ended.end()
    scope.document().set({"n": 1})
    # The other listener has seen the change, so the ended one would have, too.
    return [first, other.next(), ended.snapshots.qsize(), ended.watch.is_active, other.end()]


@step("listeners/refused", [BLOCKING])
async def refused(scope):
    listener = Listener(scope.collection().where(filter=firestore.FieldFilter("n", "in", [])))
    try:
        listener.snapshots.get(timeout=2)
        snapshot = True
    except queue.Empty:
        snapshot = False
    return snapshot


class Relay:
    """Passes connections on to the server, and can cut them."""

    def __init__(self, host):
        self.host, self.port = host.rsplit(":", 1)
        self.sockets = []
        self.lock = threading.Lock()
        self.accepts = True
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client = self.listening.accept()[0]
            except OSError:
                return
            with self.lock:
                if not self.accepts:
                    client.close()
                    continue
                server = socket.create_connection((self.host, int(self.port)))
                self.sockets += [client, server]
            for pair in [(client, server), (server, client)]:
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source, target):
        try:
            while data := source.recv(1 << 16):
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self, accepts):
        """Ends all connections. New ones are accepted or refused from now on."""
        with self.lock:
            self.accepts = accepts
            sockets, self.sockets = self.sockets, []
        for end in sockets:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def end(self):
        self.cut(False)
        self.listening.close()


@step("listeners/cut connections", [BLOCKING])
async def cut(scope):
    await scope.fill({f"d{number}": {"n": number} for number in range(5)})
    relay = Relay(scope.server.host)
    client = scope.server.at(relay.address).client()
    listener = Listener(client.collection(*scope.collection()._path))
    snapshots = [listener.next()]
    for round_ in range(3):
        relay.cut(accepts=False)
        # The listener misses these writes.
        scope.document("d0").update({"n": 100 + round_})
        scope.document(f"d{round_ + 2}").delete()
        scope.document(f"new{round_}").set({"n": 200 + round_})
        relay.cut(accepts=True)
        snapshots.append(listener.until(f"new{round_}", {"n": 200 + round_})["documents"])
    scope.document("live").set({"n": 1})
    snapshots.append(listener.until("live", {"n": 1})["documents"])
    listener.end()
    client.close()
    relay.end()
    return snapshots


# Only a server that keeps its data can be asked. Without a command that restarts it, the step does nothing.
@step("listeners/restart of the server", [BLOCKING], expected=[["kept"], ["after", "kept"]])
async def restart(scope):
    if not scope.options.restart:
        return [["kept"], ["after", "kept"]]
    await scope.fill({"kept": {"n": 1}})
    listener = Listener(scope.collection())
    snapshots = [listener.next()["documents"]]
    subprocess.run(scope.options.restart, shell=True, check=True)
    again = retry.Retry(predicate=retry.if_exception_type(exceptions.ServiceUnavailable), timeout=SECONDS_MAX)
    scope.document("after").set({"n": 2}, retry=again)
    snapshots.append(listener.until("after", {"n": 2})["documents"])
    listener.end()
    return [[name for name, _ in documents] for documents in snapshots]
