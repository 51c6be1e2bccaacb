// The client of one watch session, which collects the messages as text.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync

final class SessionClient {
  let session: WatchSession
  private let scheduler: VirtualScheduler
  private let state: Locked<State>

  private struct State: Sendable {
    var lines: [String] = []
    var tokens: [TargetID: [UInt8]] = [:]
    var token: [UInt8] = []
    var times: [SnapshotVersion] = []
    var versions: [DocumentPath: SnapshotVersion] = [:]
    var filter: BloomFilter.Parts?

    mutating func add(_ change: WatchChange, _ version: SnapshotVersion) {
      lines.append(WatchText.of(change, version))
      if version != .none { times.append(version) }
      switch change {
      case .target(_, _, let token, _): if !token.isEmpty { self.token = token }
      case .document(let path, let document, _, _): versions[path] = document?.version
      case .existenceFilter(_, _, let filter): self.filter = filter
      }
    }
  }

  init(_ authority: Authority, as user: String? = nil, on scheduler: VirtualScheduler) {
    let state = Locked(State())
    self.state = state
    self.scheduler = scheduler
    session = authority.openWatchSession(
      as: user,
      enqueue: { block in scheduler.run(block) },
      send: { change, version in state.withLock { $0.add(change, version) } },
      ended: { error in state.withLock { $0.lines.append("ended \(error.code)") } })
  }

  func watch(
    _ id: Int32, _ query: StructuredQuery, from token: [UInt8] = [], expectedCount: Int? = nil
  ) {
    session.watch(WatchTarget(TargetID(id), query, resumeToken: token, expectedCount: expectedCount))
  }

  func watch(_ id: Int32, documents: [DocumentPath], from token: [UInt8] = [], expectedCount: Int? = nil) {
    var target = WatchTarget(
      TargetID(id), StructuredQuery(.document(documents[0])), resumeToken: token,
      expectedCount: expectedCount)
    target.documents = documents
    session.watch(target)
  }

  func unwatch(_ id: Int32) { session.unwatch(TargetID(id)) }

  /// Runs what is due, and returns the new messages.
  func messages() -> [String] {
    scheduler.play(for: 0)
    return state.withLock { state in
      defer { state.lines = [] }
      return state.lines
    }
  }

  /// The last token.
  var token: [UInt8] { state.withLock { $0.token } }
  /// The times of all snapshots.
  var times: [SnapshotVersion] { state.withLock { $0.times } }
  /// The last filter.
  var filter: BloomFilter? { state.withLock { $0.filter }.flatMap { BloomFilter($0) } }

  func version(of path: DocumentPath) -> SnapshotVersion? { state.withLock { $0.versions[path] } }
}

/// An authority, and what the tests of its sessions write and ask.
final class SessionWorld {
  let scheduler = VirtualScheduler()
  let store: DocumentStore
  let authority: Authority

  init(_ store: DocumentStore? = nil) throws {
    self.store = try store ?? DocumentStore.openInMemory()
    authority = try Authority.of(self.store)
  }

  deinit { scheduler.clear() }

  func client(as user: String? = nil) -> SessionClient {
    SessionClient(authority, as: user, on: scheduler)
  }

  static let rooms = StructuredQuery(.collection(CollectionPath(unchecked: ["rooms"])))
  private static let number = StoredFieldPath(unchecked: ["n"])

  /// The rooms with at least this number.
  static func rooms(from number: Int64) throws -> StructuredQuery {
    try rooms.filtered(by: .field(Self.number, .greaterThanOrEqual, .integer(number)))
  }

  /// The rooms with the least numbers.
  static func first(_ count: Int) throws -> StructuredQuery {
    try rooms.ordered(by: OrderBy(number, .ascending)).limited(to: .first(count))
  }

  static func room(_ name: String) -> DocumentPath { DocumentPath(unchecked: ["rooms", name]) }

  /// Writes the numbers of rooms in one commit; nil deletes a room.
  func commit(_ numbers: KeyValuePairs<String, Int64?>) throws {
    try store.commit(
      numbers.map { name, number in
        number.map { .set(Self.room(name), StoredMap([("n", .integer($0))])) } ?? .delete(Self.room(name))
      })
  }
}
