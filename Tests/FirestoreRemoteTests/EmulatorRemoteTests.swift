// Clients of Google's emulator, which knows nothing of Dugout.

import ByteStore
import DocumentStore
import FirestoreRemote
import Foundation
import OfflineSync
import Testing

@Suite(.enabled(if: emulator != nil, "FIRESTORE_EMULATOR_HOST names no emulator: it is NOT compared"))
struct EmulatorRemoteTests {
  /// A collection of this run, because the emulator keeps the documents of earlier ones.
  private let collection = "rooms\(UInt32.random(in: 0...UInt32.max))"

  private func phone(_ user: String? = nil) throws -> Phone {
    let port = try #require(emulator.flatMap { Int($0.split(separator: ":").last ?? "") })
    return try Phone(port, user: user, listeningTo: collection) {
      $0.credentials = { request in request.user.map { .unsigned(for: $0) } }
    }
  }

  @Test func aWriteReachesAnotherClient() async throws {
    try await onThread {
      let (ann, bob) = (try phone("ann"), try phone())
      let path = "\(collection)/a"
      #expect(try ann.add(1, to: path).error() == nil)
      bob.wait(for: 1, at: path)
      ann.setOnline(false)
      let waits = try (0..<25).map { _ in try ann.add(1, to: path) }
      ann.setOnline(true)
      for wait in waits { #expect(wait.error() == nil) }
      bob.wait(for: 26, at: path)
      ann.stop()
      bob.stop()
    }
  }

  /// The emulator answers the guards, too, and says with a code which ones do not hold.
  @Test func guardsAreVerified() async throws {
    try await onThread {
      let remote = FirestoreRemote(Phone.options(try #require(emulator)))
      let path = DocumentPath("\(collection)/a")
      let events = Locked<[WriteStreamEvent]>([])
      let stream = remote.openWriteStream(as: nil) { event in
        events.withLock { $0.append(event) }
        events.wakeAll()
      }
      func last(_ count: Int) -> WriteStreamEvent {
        events.withLock(when: { $0.count >= count }) { $0[count - 1] }
      }
      stream.handshake([], runs: [RunRegistration(queue: "q", run: RunID(1))])
      guard case .handshakeComplete = last(2) else { throw RemoteError(.internal, "\(last(2))") }
      for number in 1...2 as ClosedRange<Int64> {
        let set = Mutation.set(path, StoredMap([(name: "n", value: .integer(number))]))
        stream.write(
          RemoteWrite(
            id: WriteID(queue: "q", run: RunID(1), batch: BatchID(number)), mutations: [set],
            firstOpen: BatchID(1), guards: [path: .exists(false)]))
      }
      guard case .answered(let version, let results, _) = last(3) else {
        throw RemoteError(.internal, "\(last(3))")
      }
      #expect(results == [WriteResult(version: version)])
      guard case .overtaken = last(4) else { throw RemoteError(.internal, "\(last(4))") }
    }
  }

  /// A write that cannot succeed fails for its condition, whether the document exists or not.
  @Test(arguments: [true, false]) func aConditionThatCannotHoldIsRefused(isThere: Bool) async throws {
    try await onThread {
      let remote = FirestoreRemote(Phone.options(try #require(emulator)))
      let driver = try DocumentStore.openInMemory().attach(remote)
      let path = DocumentPath("\(collection)/c")
      if isThere {
        let set = Mutation.set(path, StoredMap([(name: "n", value: .integer(1))]))
        let version: Result<SnapshotVersion, RemoteError> = answer { remote.commit([set], as: nil, $0) }
        _ = try version.get()
      }
      let end = PhoneWait()
      driver.write([PendingMutation(.set(path, StoredMap()), requiring: .impossible)], .server) {
        end.end($0)
      }
      guard case .remote(let error)? = end.error() else { throw RemoteError(.internal, "it was accepted") }
      #expect(error.code == .failedPrecondition, "\(error)")
      driver.stop()
    }
  }

  @Test func callsAreAnswered() async throws {
    try await onThread {
      let remote = FirestoreRemote(Phone.options(try #require(emulator)))
      let path = DocumentPath("\(collection)/b c:d")
      let set = Mutation.set(path, StoredMap([(name: "n", value: .integer(2))]), precondition: .exists(false))
      let version: Result<SnapshotVersion, RemoteError> = answer { remote.commit([set], as: nil, $0) }
      let again: Result<SnapshotVersion, RemoteError> = answer { remote.commit([set], as: nil, $0) }
      #expect(again.failure?.code == .alreadyExists)
      let read: Result<[RemoteDocument], RemoteError> = answer {
        remote.documents(at: [DocumentPath("\(collection)/none"), path], as: nil, $0)
      }
      #expect(try read.get().map { $0.fields?["n"] } == [nil, .integer(2)])
      #expect(try read.get()[1].version == version.get())
      let rooms = StructuredQuery(.collection(try CollectionPath([collection])))
      let values: Result<[StoredValue], RemoteError> = answer {
        remote.aggregate([.count, .sum(try! StoredFieldPath(["n"]))], over: rooms, as: nil, $0)
      }
      #expect(try values.get() == [.integer(1), .integer(2)])
    }
  }
}

private let emulator = ProcessInfo.processInfo.environment["FIRESTORE_EMULATOR_HOST"]

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
