// Clients and a server in one process, over sockets of the loopback interface.

import ByteStore
import DocumentStore
import FirestoreRemote
import Harness
import OfflineSync
import ServerHarness
import Testing

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
#endif
