"""Clients of one server.

Without a secret, the clients are used as an app uses them with an emulator: `FIRESTORE_EMULATOR_HOST` names the server,
and the library sends `Bearer owner`.

With a secret, there are two ways:

- With TLS, the library needs nothing special. `google.oauth2.credentials.Credentials(token=SECRET)` and
  `ClientOptions(api_endpoint=HOST)` send the secret. `GRPC_DEFAULT_SSL_ROOTS_FILE_PATH` names a certificate of one's
  own. `--ca FILE` does the same with a channel of ours.
- Without TLS, gRPC refuses to send credentials. An interceptor adds the header to each call of an insecure channel, and
  the channel is given to the transport of the generated client. Use this on the loopback interface only.
"""

import collections
import contextlib
import os

import grpc
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.services.firestore import async_client as generated_async_client
from google.cloud.firestore_v1.services.firestore import client as generated_client
from google.cloud.firestore_v1.services.firestore.transports import grpc as blocking_transport
from google.cloud.firestore_v1.services.firestore.transports import grpc_asyncio as async_transport

HOST_VARIABLE = "FIRESTORE_EMULATOR_HOST"
OPTIONS = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]


class Server:
    def __init__(self, host, project, database="(default)", secret=None, ca=None):
        self.host = host
        self.project = project
        self.database = database
        self.secret = secret
        self.ca = ca

    def at(self, host):
        """The same server, reached at another address."""
        return Server(host, self.project, self.database, self.secret, self.ca)

    def client(self):
        if self.secret is None:
            with emulator_host(self.host):
                return firestore.Client(project=self.project, database=self.database)
        client = firestore.Client(
            project=self.project, database=self.database, credentials=AnonymousCredentials())
        channel = grpc.intercept_channel(self._channel(grpc), *bearer_interceptors(self.secret))
        transport = blocking_transport.FirestoreGrpcTransport(host=self.host, channel=channel)
        client._transport = transport
        client._firestore_api_internal = generated_client.FirestoreClient(transport=transport)
        return client

    def async_client(self):
        """Has to be called on the event loop that uses the client."""
        if self.secret is None:
            with emulator_host(self.host):
                client = firestore.AsyncClient(project=self.project, database=self.database)
                # Some methods use a blocking client of their own, which reads the variable, too.
                client._to_sync_copy()
                return client
        client = firestore.AsyncClient(
            project=self.project, database=self.database, credentials=AnonymousCredentials())
        channel = self._channel(grpc.aio, interceptors=bearer_async_interceptors(self.secret))
        transport = async_transport.FirestoreGrpcAsyncIOTransport(host=self.host, channel=channel)
        client._transport = transport
        client._firestore_api_internal = generated_async_client.FirestoreAsyncClient(transport=transport)
        # Some methods use a blocking client of their own, which would have no secret.
        client._sync_copy = self.client()
        return client

    def _channel(self, library, **arguments):
        if self.ca is None:
            return library.insecure_channel(self.host, options=OPTIONS, **arguments)
        with open(self.ca, "rb") as file:
            credentials = grpc.ssl_channel_credentials(file.read())
        return library.secure_channel(self.host, credentials, options=OPTIONS, **arguments)


@contextlib.contextmanager
def emulator_host(host):
    """The clients read the variable when they are created."""
    before = os.environ.get(HOST_VARIABLE)
    os.environ[HOST_VARIABLE] = host
    try:
        yield
    finally:
        if before is None:
            del os.environ[HOST_VARIABLE]
        else:
            os.environ[HOST_VARIABLE] = before


class CallDetails(
        collections.namedtuple("CallDetails", "method timeout metadata credentials wait_for_ready compression"),
        grpc.ClientCallDetails):
    pass


def authorized(details, secret):
    metadata = [entry for entry in details.metadata or [] if entry[0].lower() != "authorization"]
    metadata.append(("authorization", f"Bearer {secret}"))
    return metadata


def bearer_interceptors(secret):
    class Interceptor(
            grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor,
            grpc.StreamStreamClientInterceptor):
        def intercept(self, proceed, details, request):
            return proceed(
                CallDetails(
                    details.method, details.timeout, authorized(details, secret), details.credentials,
                    details.wait_for_ready, details.compression), request)

        intercept_unary_unary = intercept_unary_stream = intercept_stream_stream = intercept

    return [Interceptor()]


def bearer_async_interceptors(secret):
    async def intercept(self, proceed, details, request):
        metadata = grpc.aio.Metadata(*authorized(details, secret))
        return await proceed(details._replace(metadata=metadata), request)

    # grpc.aio keeps interceptors of one kind each.
    return [
        type("Unary", (grpc.aio.UnaryUnaryClientInterceptor,), {"intercept_unary_unary": intercept})(),
        type("Answers", (grpc.aio.UnaryStreamClientInterceptor,), {"intercept_unary_stream": intercept})(),
        type("Stream", (grpc.aio.StreamStreamClientInterceptor,), {"intercept_stream_stream": intercept})(),
    ]
