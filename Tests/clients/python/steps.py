"""Steps: named functions that call the server and return what is compared.

Most steps run twice, with the blocking client and with the asynchronous one, whose interfaces are almost the same. A
step awaits `wait(call)`, which does the right thing for both.
"""

import inspect
import uuid

STEPS = []
BLOCKING, ASYNC = "sync", "async"


class Step:
    def __init__(self, name, kind, function, expected):
        self.name = f"{kind}/{name}"
        self.kind = kind
        self.function = function
        # The result that is right, if the emulator's is not: it is then not asked.
        self.expected = expected


def step(name, kinds=(BLOCKING, ASYNC), expected=None):
    def register(function):
        STEPS.extend(Step(name, kind, function, expected) for kind in kinds)
        return function

    return register


async def wait(value):
    """Returns the result of a call, or all elements of its stream."""
    if inspect.isawaitable(value):
        value = await value
    if hasattr(value, "__aiter__"):
        return [element async for element in value]
    return list(value) if hasattr(value, "__next__") else value


class Scope:
    """What a step works with: a client, and documents that no other step and no other run uses."""

    def __init__(self, server, kind, client, recorder, options):
        self.server = server
        self.kind = kind
        self.client = client
        self.recorder = recorder
        self.options = options
        self.run = "r" + uuid.uuid4().hex[:12]
        self.root = client.document(f"calls/{self.run}")
        recorder.replaced.insert(0, (self.run, "ROOT"))

    @property
    def is_async(self):
        return self.kind == ASYNC

    def collection(self, name="c"):
        return self.root.collection(name)

    def document(self, name="a", collection="c"):
        return self.collection(collection).document(name)

    @property
    def api(self):
        """The generated client, which has a method for each call of the protocol."""
        return self.client._firestore_api

    @property
    def metadata(self):
        return self.client._rpc_metadata

    @property
    def database(self):
        return self.client._database_string

    def name(self, path):
        """The full name of a document below the root of this step; of the root itself for an empty path."""
        return f"{self.database}/documents/calls/{self.run}" + (f"/{path}" if path else "")

    async def call(self, method, **request):
        """Sends one request with the generated client, without retries."""
        return await wait(
            getattr(self.api, method)(
                request=request, metadata=self.metadata, retry=None, timeout=30))

    async def page(self, method, **request):
        """Returns one answer of a method whose answers are pages."""
        answer = getattr(self.api, method)(request=request, metadata=self.metadata, retry=None, timeout=30)
        return (await answer if inspect.isawaitable(answer) else answer)._response

    async def fill(self, documents, collection="c"):
        """Writes documents, by id, in one batch."""
        batch = self.client.batch()
        for name, fields in documents.items():
            batch.set(self.document(name, collection), fields)
        await wait(batch.commit())

    async def get(self, reference):
        return await wait(reference.get())

    async def refusal(self, call):
        """Returns the error of a call that the server should refuse. `call` is a function without parameters."""
        try:
            result = await wait(call())
        except Exception as error:
            return self.recorder.error(error)
        return {"accepted": self.recorder.plain(result)}


def ids(snapshots):
    return [snapshot.id for snapshot in snapshots]
