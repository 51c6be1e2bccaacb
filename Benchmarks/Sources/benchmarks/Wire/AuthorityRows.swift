// The cost of a change for an authority: with answers of one and of two thousand documents, and with ten
// thousand targets that the change does not concern.
//
// Commits, watch streams and their messages all run on the thread that measures.

import Authority
import DocumentStore
import FirestoreService
import SampleDocuments

enum AuthorityRows {
  private static let changesPerRound = 300
  private static let documents = 2_000
  private static let streams = 100
  private static let targetsPerStream = 100
  /// The bytes that the messages about a change may have besides the document.
  private static let bytesBesideDocument = 200

  static func parts(in directory: String) throws -> [RowPart] {
    let small = try WatchedStore("\(directory)/small", documents: 1)
    let large = try WatchedStore("\(directory)/large", documents: documents)
    let quiet = try WatchedStore("\(directory)/quiet", documents: 1)
    let crowded = try WatchedStore("\(directory)/crowded", documents: 1)
    try small.watchUsers()
    try large.watchUsers()
    for _ in 0..<streams { try crowded.watchOthers(count: targetsPerStream) }
    let document = try large.documentBytes()
    let many = "answer of \(documents) documents"
    let idle = "\(streams * targetsPerStream) other targets"
    return [
      RowPart(
        title: "a change and its messages, CPU time",
        subjects: [subject("answer of 1 document", small), subject(many, large)],
        goals: [RowGoal(subject: many, ratioMax: 1.3)]),
      RowPart(
        title: "bytes of the messages about a change of a document",
        subjects: [
          RowSubject(name: "the document alone", unit: "B") { Double(document) },
          RowSubject(name: "messages, answer of 1 document", unit: "B") { try small.bytesOfChange() },
          RowSubject(name: "messages, \(many)", unit: "B") { try large.bytesOfChange() },
        ],
        goals: [
          RowGoal(
            subject: "messages, \(many)",
            ratioMax: Double(document + bytesBesideDocument) / Double(document))
        ]),
      RowPart(
        title: "a commit that concerns no target, CPU time",
        subjects: [subject("no targets", quiet), subject(idle, crowded)],
        goals: [RowGoal(subject: idle, ratioMax: 1.2)]),
    ]
  }

  private static func subject(_ name: String, _ store: WatchedStore) -> RowSubject {
    RowSubject(name: name) { try ThreadTime.perCall(changesPerRound) { try store.change() }.nanoseconds }
  }
}

/// A store with users, as an authority of clients on this thread.
private final class WatchedStore {
  private static let database = "projects/sample/databases/(default)"

  private let store: DocumentStore
  private let service: FirestoreService
  private let work = WaitingWork()
  private var calls: [ServiceCall] = []
  private let users: [DocumentPath]
  private var number = 0

  init(_ directory: String, documents: Int) throws {
    store = try DocumentStore.open(directory)
    service = try FirestoreService(databases: [Self.database: Authority.of(store)])
    users = try (0..<documents).map { try DocumentPath(["users", "user-\($0)"]) }
    for start in stride(from: 0, to: documents, by: 500) {
      try store.commit(
        users[start..<min(start + 500, documents)].enumerated().map { .set($1, Self.fields(start + $0)) })
    }
  }

  private static func fields(_ number: Int) -> StoredMap {
    StoredMap(SampleDocument(number).fields.map { ($0.name, StoredValue($0.value)) })
  }

  // MARK: Watching

  /// Watches all users on a stream.
  func watchUsers() throws {
    let users = WireBytes.field(2, WireBytes.field(2, "users"))
    open([target(1, users)])
    guard work.takeBytes() > 0 else { throw BenchmarkFailure("a watch stream has sent nothing") }
  }

  /// Watches queries on a stream whose answers no user enters.
  func watchOthers(count: Int) throws {
    let first = calls.count * count
    open(
      (0..<count).map { place in
        let condition =
          WireBytes.field(1, WireBytes.field(2, "city")) + WireBytes.field(2, 5)
          + WireBytes.field(3, WireBytes.field(17, "Nowhere \(first + place)"))
        return target(
          place + 1,
          WireBytes.field(2, WireBytes.field(2, "users")) + WireBytes.field(3, WireBytes.field(2, condition)))
      })
    guard work.takeBytes() > 0 else { throw BenchmarkFailure("a watch stream has sent nothing") }
  }

  private func target(_ id: Int, _ query: [UInt8]) -> [UInt8] {
    let parent = WireBytes.field(1, "\(Self.database)/documents")
    return WireBytes.field(2, parent + WireBytes.field(2, query)) + WireBytes.field(5, id)
  }

  private func open(_ targets: [[UInt8]]) {
    let call = service.handle(
      "Listen", metadata: CallMetadata(), format: .protobuf, on: ServiceQueue(work.add), respond: work.take)
    for target in targets {
      call.send(WireBytes.field(1, Self.database) + WireBytes.field(2, target))
      work.run()
    }
    calls.append(call)
  }

  // MARK: Changing

  /// Changes a user, and lets all streams send what they have to. Returns a number that depends on the work.
  func change() throws -> Int {
    number += 1
    try store.commit([.set(users[number % users.count], Self.fields(number + users.count))])
    work.run()
    return number
  }

  /// The bytes of all messages about one change.
  func bytesOfChange() throws -> Double {
    _ = work.takeBytes()
    _ = try change()
    let bytes = work.takeBytes()
    guard bytes > 0 else { throw BenchmarkFailure("a change has no messages") }
    return Double(bytes)
  }

  /// The bytes of the message of one user.
  func documentBytes() throws -> Int {
    let call = service.handle(
      "GetDocument", metadata: CallMetadata(), format: .protobuf, on: ServiceQueue(work.add),
      respond: work.take)
    _ = work.takeBytes()
    call.send(WireBytes.field(1, "\(Self.database)/documents/users/user-0"))
    call.finish()
    work.run()
    let bytes = work.takeBytes()
    guard bytes > 0 else { throw BenchmarkFailure("a document was not found") }
    return bytes
  }
}

/// The blocks of calls that wait for this thread, and the bytes that the calls have sent.
private final class WaitingWork: @unchecked Sendable {
  // The conformance is unchecked, because the benchmark has one thread.
  private var blocks: [@Sendable () -> Void] = []
  private var bytes = 0

  func add(_ block: @escaping @Sendable () -> Void) { blocks.append(block) }

  func run() {
    while !blocks.isEmpty {
      let due = blocks
      blocks = []
      for block in due { block() }
    }
  }

  func take(_ event: ServiceEvent) { if case .message(let message) = event { bytes += message.count } }

  func takeBytes() -> Int {
    defer { bytes = 0 }
    return bytes
  }
}
