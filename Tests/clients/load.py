#!/usr/bin/env python3
"""Loads a Firestore server with Google's Python client while the server is killed and started again.

  load.py --host HOST:PORT --run NAME --clients 4 --acknowledged FILE --listen      until SIGTERM, or --seconds N
  load.py --host HOST:PORT --run NAME --acknowledged FILE --check                   compares the server with FILE

Each client writes the numbers 1, 2, 3, … into documents of its own. A commit has a document for the number and the
counter of the client, so both must be there or neither. Every tenth commit is a transaction that also increments a
counter that all clients share. A commit that fails is sent again until it is acknowledged. FILE gets a JSON line for
each acknowledged commit, flushed before the next one is sent:

  {"client": 0, "number": 17, "shared": false}

With --listen, a listener keeps the counters of all clients. At the end, it must show what a query finds. The program
prints a JSON line with what it has seen, and exits with 1 if the listener does not converge or the check fails. The line
counts calls that the library has lost: their ends did not come even after their deadlines.

Data of the run NAME is below load/NAME. Needs `google-cloud-firestore`.
"""

import argparse
import functools
import json
import logging
import os
import pathlib
import queue
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "python"))

from connections import Server  # noqa: E402
from google.api_core import bidi, exceptions  # noqa: E402
from google.cloud import firestore  # noqa: E402
from google.cloud.firestore_v1 import watch  # noqa: E402

CALL_SECONDS_MAX = 10
# After many refused connections, a channel of gRPC waits up to 120 seconds before it connects again.
CONVERGENCE_SECONDS_MAX = 150
# Every commit with such a number increments the shared counter.
SHARED_INTERVAL = 10
# A pause after a failed call, so that a server that is down is not asked in a loop.
RETRY_SECONDS = 0.05
LISTEN_SECONDS_MAX = 20
WRITE_SECONDS_MAX = 120
# A call that is awaited for so long after its deadline is lost.
LOST_SECONDS = 15


class Data:
    """The documents of a run, seen through a client of its own."""

    def __init__(self, server, run):
        self.client = server.client()
        self.root = self.client.collection("load").document(run)
        self.numbers = self.root.collection("numbers")
        self.counters = self.root.collection("counters")
        self.shared = self.root.collection("shared").document("counter")

    def number(self, client, number):
        return self.numbers.document(f"{client:04}-{number:08}")

    def counter(self, client):
        return self.counters.document(f"{client:04}")


class Writer(threading.Thread):
    def __init__(self, server, options, client, acknowledge, stopping):
        super().__init__(daemon=True)
        self.data = Data(server, options.run)
        self.client = client
        self.acknowledge = acknowledge
        self.stopping = stopping
        self.failures = {}
        self.error = None

    def run(self):
        try:
            number = 0
            while not self.stopping.is_set():
                number += 1
                if self.write(number):
                    self.acknowledge(
                        {"client": self.client, "number": number, "shared": number % SHARED_INTERVAL == 0})
        except Exception as error:
            self.error = f"client {self.client}: {type(error).__name__}: {error}"

    def write(self, number):
        """Sends the commit until it is acknowledged. Returns false if the program ends before that."""
        while True:
            try:
                if number % SHARED_INTERVAL == 0:
                    self.transaction(number)
                else:
                    batch = self.data.client.batch()
                    self.add(batch, number)
                    batch.commit(retry=None, timeout=CALL_SECONDS_MAX)
                return True
            except (exceptions.ServiceUnavailable, exceptions.DeadlineExceeded, exceptions.Aborted,
                    exceptions.InternalServerError, exceptions.Cancelled, exceptions.InvalidArgument,
                    exceptions.Unknown, exceptions.ResourceExhausted, exceptions.RetryError, ValueError) as error:
                # A transaction that a killed server has begun is INVALID_ARGUMENT. The client's own error after its
                # last attempt is a ValueError.
                name = type(error).__name__
                self.failures[name] = self.failures.get(name, 0) + 1
                if self.stopping.is_set():
                    return False
                time.sleep(RETRY_SECONDS)

    def add(self, writes, number):
        writes.set(self.data.number(self.client, number), {"client": self.client, "number": number})
        writes.set(self.data.counter(self.client), {"number": number})

    def transaction(self, number):
        @firestore.transactional
        def body(transaction):
            # A commit whose acknowledgement was lost must not count twice.
            written = self.data.number(self.client, number).get(
                transaction=transaction, retry=None, timeout=CALL_SECONDS_MAX)
            if written.exists:
                return
            shared = self.data.shared.get(transaction=transaction, retry=None, timeout=CALL_SECONDS_MAX)
            count = shared.get("n") if shared.exists else 0
            transaction.set(self.data.shared, {"n": count + 1})
            self.add(transaction, number)

        body(self.data.client.transaction(max_attempts=20))


class LostCall(Exception):
    """A call has not ended long after its deadline."""


def awaited(action):
    """The result of an action with a call of CALL_SECONDS_MAX. Raises LostCall if the library loses the call."""
    results = queue.Queue()

    def run():
        try:
            results.put((action(), None))
        except Exception as error:
            results.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        result, error = results.get(timeout=CALL_SECONDS_MAX + LOST_SECONDS)
    except queue.Empty:
        raise LostCall from None
    if error is not None:
        raise error
    return result


class ObservedStream(bidi.ResumableBidiRpc):
    """The stream of a listener. Its calls have a deadline, and it remembers which call it awaits since when.

    When connections break in quick succession, gRPC's library for Python seldom loses the end of a call: the thread that
    awaits it waits for ever, also beyond the call's deadline. A deadline is the client's own, so no server can cause that.
    """

    awaited = None

    def __init__(self, start_rpc, **options):
        super().__init__(functools.partial(start_rpc, timeout=LISTEN_SECONDS_MAX), **options)

    def _recv(self):
        with self._operational_lock:
            call = self.call
        self.awaited = (call, time.monotonic())
        try:
            return next(call)
        finally:
            self.awaited = None

    def awaits_lost_call(self):
        awaited = self.awaited
        return awaited is not None and time.monotonic() - awaited[1] > LISTEN_SECONDS_MAX + LOST_SECONDS


class Listener:
    """Keeps the counters of all clients. A listener that ends is started again, as an app would. So is one whose library
    has lost a call; these are counted."""

    def __init__(self, server, run):
        self.server = server
        self.run = run
        self.data = Data(server, run)
        self.lock = threading.Lock()
        self.state = {}
        self.snapshot_count = 0
        self.start_count = 0
        self.lost_call_count = 0
        self.watch = None
        self.keep()

    def keep(self):
        stream = self.watch._rpc if self.watch is not None else None
        if stream is not None and stream.awaits_lost_call():
            self.lost_call_count += 1
            # The channel may lose more, so the next listener has one of its own.
            threading.Thread(target=self.watch.unsubscribe, daemon=True).start()
            self.data = Data(self.server, self.run)
            self.watch = None
        if self.watch is None or not self.watch.is_active:
            self.start_count += 1
            self.watch = self.data.counters.on_snapshot(self.receive)

    def receive(self, documents, changes, read_time):
        with self.lock:
            self.state = {document.id: document.get("number") for document in documents}
            self.snapshot_count += 1

    def find(self):
        return {
            document.id: document.get("number")
            for document in self.data.counters.get(timeout=CALL_SECONDS_MAX)}

    def converge(self):
        """Waits until the listener shows what a query finds, and returns whether it does."""
        end = time.monotonic() + CONVERGENCE_SECONDS_MAX
        while time.monotonic() < end:
            self.keep()
            try:
                found = awaited(self.find)
                with self.lock:
                    if self.state == found:
                        return True
            except LostCall:
                self.lost_call_count += 1
                self.data = Data(self.server, self.run)
            except exceptions.GoogleAPICallError:
                pass
            time.sleep(RETRY_SECONDS)
        return False


def load(server, options):
    watch.ResumableBidiRpc = ObservedStream
    stopping, lock = threading.Event(), threading.Lock()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    file = open(options.acknowledged, "a", encoding="utf-8")
    count = 0

    def acknowledge(entry):
        nonlocal count
        with lock:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            count += 1

    listener = Listener(server, options.run) if options.listen else None
    writers = [Writer(server, options, client, acknowledge, stopping) for client in range(options.clients)]
    for writer in writers:
        writer.start()
    end = time.monotonic() + options.seconds if options.seconds else None
    while not stopping.wait(0.1) and (end is None or time.monotonic() < end):
        if listener:
            listener.keep()
    stopping.set()
    # The longest call of a writer is a commit of a transaction, with its repetitions.
    lost = 0
    end = time.monotonic() + WRITE_SECONDS_MAX + LOST_SECONDS
    for writer in writers:
        writer.join(max(0, end - time.monotonic()))
        lost += writer.is_alive()
    failures = {}
    for writer in writers:
        for name, number in writer.failures.items():
            failures[name] = failures.get(name, 0) + number
    result = {
        "acknowledged": count, "failures": failures, "errors": [writer.error for writer in writers if writer.error]}
    if listener:
        result["converged"] = listener.converge()
        result["listener"] = listener.state
        result["snapshots"] = listener.snapshot_count
        result["listener_starts"] = listener.start_count
        threading.Thread(target=listener.watch.unsubscribe, daemon=True).start()
        lost += listener.lost_call_count
    result["lost_calls"] = lost
    print(json.dumps(result, sort_keys=True), flush=True)
    # A thread that awaits a lost call would keep the program from ending.
    file.flush()
    os._exit(0 if result.get("converged", True) and not result["errors"] else 1)


def check(server, options):
    """Compares the documents of the server with the acknowledged commits."""
    data, wrong = Data(server, options.run), []
    acknowledged, shared = {}, 0
    with open(options.acknowledged, encoding="utf-8") as file:
        for entry in map(json.loads, file):
            acknowledged[entry["client"]] = max(entry["number"], acknowledged.get(entry["client"], 0))
            shared += entry["shared"]
    numbers = {}
    for document in data.numbers.stream():
        numbers.setdefault(document.get("client"), set()).add(document.get("number"))
    counters = {int(document.id): document.get("number") for document in data.counters.stream()}
    for client in sorted(set(acknowledged) | set(numbers) | set(counters)):
        counter = counters.get(client, 0)
        # A client sends a commit when the one before it is acknowledged, so at most one is neither.
        if not acknowledged.get(client, 0) <= counter <= acknowledged.get(client, 0) + 1:
            wrong.append(f"client {client}: the counter is {counter}, acknowledged is {acknowledged.get(client, 0)}")
        if numbers.get(client, set()) != set(range(1, counter + 1)):
            wrong.append(f"client {client}: its documents are not 1 to {counter}")
    snapshot = data.shared.get()
    count = snapshot.get("n") if snapshot.exists else 0
    expected = sum(counter // SHARED_INTERVAL for counter in counters.values())
    if not shared <= count == expected:
        wrong.append(f"the shared counter is {count}, written is {expected}, acknowledged is {shared}")
    commits = sum(acknowledged.values())
    print(json.dumps({"acknowledged": commits, "clients": len(counters), "shared": count, "wrong": wrong}))
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, metavar="HOST:PORT")
    parser.add_argument("--project", default="demo-load")
    parser.add_argument("--run", required=True, metavar="NAME")
    parser.add_argument("--secret-file", help="a file with the secret; without it, the server is used as an emulator")
    parser.add_argument("--ca", metavar="FILE", help="use TLS, and trust the certificates in this file")
    parser.add_argument("--clients", type=int, default=4, metavar="N")
    parser.add_argument("--seconds", type=float, help="ends after this time; without it, at SIGTERM")
    parser.add_argument("--acknowledged", required=True, metavar="FILE")
    parser.add_argument("--listen", action="store_true")
    parser.add_argument("--check", action="store_true", help="only compare the server with the acknowledged commits")
    options = parser.parse_args()
    logging.getLogger("google").setLevel(logging.CRITICAL)
    secret = None
    if options.secret_file:
        secret = pathlib.Path(options.secret_file).read_text(encoding="utf-8").rstrip("\n")
    server = Server(options.host, options.project, secret=secret, ca=options.ca)
    return check(server, options) if options.check else load(server, options)


if __name__ == "__main__":
    sys.exit(main())
