// Clients and a server in one process, over sockets of the loopback interface.

import ByteStore
import DocumentStore
import FirestoreWire
import HTTPClient
import Harness
import OfflineSync
import ServerHarness
import Testing

@testable import FirestoreRemote

#if Server
@Suite struct ServedRemoteTests {
  @Test func aWriteReachesAnotherClient() async throws {
    try await ServedStore.with { served in
      let (ann, bob) = (try Phone(served.port), try Phone(served.port))
      #expect(try ann.add(1, to: "rooms/a").error() == nil)
      bob.wait(for: 1, at: "rooms/a")
      #expect(try bob.add(2, to: "rooms/a").error() == nil)
      ann.wait(for: 3, at: "rooms/a")
      #expect(try served.documents(in: "rooms").map { $0.fields["n"] } == [.integer(3)])
      ann.stop()
      bob.stop()
    }
  }

  @Test func writesOfATimeWithoutNetworkAreAppliedOnce() async throws {
    try await ServedStore.with { served in
      let (ann, bob) = (try Phone(served.port), try Phone(served.port))
      _ = try ann.add(1, to: "rooms/a").error()
      ann.setOnline(false)
      let waits = try (0..<25).map { _ in try ann.add(1, to: "rooms/a") }
      ann.setOnline(true)
      for wait in waits { #expect(wait.error() == nil) }
      bob.wait(for: 26, at: "rooms/a")
      ann.stop()
      bob.stop()
    }
  }

  @Test func clientsContinueWhenTheServerHasStartedAgain() async throws {
    try await onThread {
      let directory = TemporaryDirectory()
      let server = RestartedServer(in: directory.path)
      let port = try server.start()
      let (ann, bob) = (try Phone(port), try Phone(port))
      #expect(try ann.add(1, to: "rooms/a").error() == nil)
      bob.wait(for: 1, at: "rooms/a")
      try server.stop()
      let waits = try (0..<5).map { _ in try ann.add(1, to: "rooms/a") }
      #expect(try server.start() == port)
      for wait in waits { #expect(wait.error() == nil) }
      bob.wait(for: 6, at: "rooms/a")
      ann.wait(for: 6, at: "rooms/a")
      ann.stop()
      bob.stop()
      try server.stop()
    }
  }

  @Test func aTokenSaysWhoTheUserIs() async throws {
    try await ServedStore.with { served in
      let asked = Locked<[FirestoreTokenRequest]>([])
      let ann = try Phone(served.port, user: "ann") {
        $0.credentials = { request in
          asked.withLock { $0.append(request) }
          return request.user.map { .unsigned(for: $0) }
        }
      }
      #expect(try ann.add(1, to: "rooms/a").error() == nil)
      ann.wait(for: 1, at: "rooms/a")
      // Both streams have the token of one fetch.
      #expect(asked.withLock { $0 } == [FirestoreTokenRequest(user: "ann")])
      ann.stop()
    }
  }

  @Test func aTokenThatTheServerRefusesIsReplaced() async throws {
    try await onThread {
      let directory = TemporaryDirectory()
      let secret = "0123456789abcdef-secret"
      let server = RestartedServer(in: directory.path, secret: secret)
      let asked = Locked<[FirestoreTokenRequest]>([])
      let ann = try Phone(try server.start()) {
        $0.credentials = { request in
          asked.withLock { $0.append(request) }
          return FirestoreToken(request.refused == nil ? "nonsense" : secret)
        }
      }
      #expect(try ann.add(1, to: "rooms/a").error() == nil)
      ann.wait(for: 1, at: "rooms/a")
      #expect(asked.withLock { $0 }.map(\.refused) == [nil, FirestoreToken("nonsense")])
      ann.stop()
      try server.stop()
    }
  }

  @Test func laterCommitsAreOneRequestEach() async throws {
    try await ServedStore.with { served in
      let options = Phone.options("127.0.0.1:\(served.port)")
      let scheduler = QueueScheduler(label: "dugout.tests.remote")
      let transport = CountingTransport(SystemTransport.make(host: options.host, isTLS: false))
      let channels = WebChannels(transport, database: options.name.text, scheduler: scheduler)
      let remote = FirestoreRemote(options, transport: transport, channels: channels, on: scheduler)
      let increment = FieldTransform(try StoredFieldPath(["n"]), .increment(.integer(1)))
      let add = Mutation.patch(
        DocumentPath("rooms/a"), StoredMap(), mask: FieldMask([]), transforms: [increment])
      for number in 1...5 {
        let version: Result<SnapshotVersion, RemoteError> = answer { remote.commit([add], as: nil, $0) }
        let stored = try #require(try served.store.document(at: DocumentPath("rooms/a")))
        #expect(stored.fields["n"] == .integer(Int64(number)))
        #expect(try version.get() == SnapshotVersion(stored.updateTime))
        #expect(transport.commitCount == number)
      }
      #expect(transport.openedSessionCount == 1)
    }
  }

  @Test func callsAreAnswered() async throws {
    try await ServedStore.with { served in
      let remote = FirestoreRemote(Phone.options("127.0.0.1:\(served.port)"))
      let path = DocumentPath("rooms/a/lines/b c:d")
      let set = Mutation.set(path, StoredMap([(name: "n", value: .integer(2))]), precondition: .exists(false))
      let version: Result<SnapshotVersion, RemoteError> = answer { remote.commit([set], as: nil, $0) }
      let again: Result<SnapshotVersion, RemoteError> = answer { remote.commit([set], as: nil, $0) }
      #expect(throws: RemoteError.self) { try again.get() }
      let read: Result<[RemoteDocument], RemoteError> = answer {
        remote.documents(at: [DocumentPath("rooms/a"), path], as: nil, $0)
      }
      let documents = try read.get()
      #expect(documents.map(\.path) == [DocumentPath("rooms/a"), path])
      #expect(documents.map { $0.fields?["n"] } == [nil, .integer(2)])
      #expect(try documents[1].version == version.get())
      let lines = StructuredQuery(.collection(try CollectionPath(["rooms", "a", "lines"])))
      let sum = Aggregate.sum(try StoredFieldPath(["n"]))
      let values: Result<[StoredValue], RemoteError> = answer {
        remote.aggregate([.count, sum], over: lines, as: nil, $0)
      }
      #expect(try values.get() == [.integer(1), .integer(2)])
    }
  }
}

/// Counts the requests that it passes on.
private final class CountingTransport: WebTransport {
  private let transport: any WebTransport
  private let counts = Locked((commits: 0, sessions: 0))

  init(_ transport: any WebTransport) { self.transport = transport }

  var commitCount: Int { counts.withLock { $0.commits } }
  var openedSessionCount: Int { counts.withLock { $0.sessions } }

  func begin(
    _ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void
  ) -> any WebExchange {
    counts.withLock { counts in
      if request.target.contains(":commit") { counts.commits += 1 }
      if request.method == "POST", request.target.contains("/channel"), !request.target.contains("SID=") {
        counts.sessions += 1
      }
    }
    return transport.begin(request, handler)
  }
}
#endif
