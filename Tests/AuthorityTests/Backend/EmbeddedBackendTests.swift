// A store as the backend of an authority.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct EmbeddedBackendTests {
  private let store: DocumentStore
  private let backend: EmbeddedBackend

  init() throws {
    store = try DocumentStore.openInMemory()
    backend = try EmbeddedBackend(store)
  }

  private func path(_ text: String) -> DocumentPath {
    DocumentPath(unchecked: text.split(separator: "/").map(String.init))
  }

  @discardableResult private func set(_ text: String, _ number: Int64) throws -> SnapshotVersion {
    SnapshotVersion(try store.commit([.set(path(text), StoredMap([("n", .integer(number))]))]))
  }

  private func number(_ record: DocumentRecord?) -> StoredValue? {
    record?.value(at: StoredFieldPath(unchecked: ["n"]))
  }

  // MARK: Reading

  @Test func aSnapshotIsNotAffectedByLaterCommits() throws {
    let time = try set("a/1", 1)
    let snapshot = try backend.snapshot(.now)
    try set("a/1", 2)
    try set("a/2", 2)
    #expect(snapshot.version == time)
    let records = try snapshot.documents(at: [path("a/2"), path("a/1"), path("a/1")])
    #expect(records.map(number) == [nil, .integer(1), .integer(1)])
    let query = StructuredQuery(.collection(CollectionPath(unchecked: ["a"])))
    var paths: [String] = []
    try snapshot.forEach(query) { record in
      paths.append(record.path.description)
      return true
    }
    #expect(paths == ["a/1"])
    #expect(try snapshot.aggregate([.count], over: query) == [.integer(1)])
    snapshot.close()
    #expect(throws: RemoteError.self) { try snapshot.documents(at: [path("a/1")]) }
  }

  @Test func aTransactionFailsIfWhatItReadHasChanged() throws {
    try set("a/1", 1)
    let query = StructuredQuery(.collection(CollectionPath(unchecked: ["a"])))
    let write = Mutation.set(path("b/1"), StoredMap())
    for isQuery in [true, false] {
      let transaction = try backend.transaction()
      if isQuery {
        try transaction.forEach(query) { _ in true }
      } else {
        #expect(try transaction.documents(at: [path("a/1")]).map(number) != [nil])
      }
      try set("a/1", isQuery ? 2 : 3)
      #expect { try transaction.commit([write], recording: nil) } throws: { error in
        (error as? RemoteError)?.code == .aborted
      }
    }
    #expect(try store.document(at: path("b/1")) == nil)
    let transaction = try backend.transaction()
    _ = try transaction.documents(at: [path("a/1")])
    #expect(try transaction.commit([write], recording: nil) != nil)
    #expect(try store.document(at: path("b/1")) != nil)
    #expect(try backend.transaction().commit([], recording: nil) == nil)
  }

  // MARK: Writing

  @Test func commitsWithoutWaitingKeepTheirOrder() async throws {
    let results = await withTaskGroup(of: [Int].self) { group in
      group.addTask {
        await withCheckedContinuation { continuation in
          let done = Locked<[Int]>([])
          for number in 0..<100 {
            let fields = StoredMap([("n", .integer(Int64(number)))])
            backend.commit(BackendCommit([.set(path("a/1"), fields)])) { result in
              let all = done.withLock { done in
                done.append((try? result.get()) == nil ? -1 : number)
                return done
              }
              if all.count == 100 { continuation.resume(returning: all) }
            }
          }
        }
      }
      return await group.next()
    }
    #expect(results == Array(0..<100))
    #expect(try store.document(at: path("a/1"))?.fields["n"] == .integer(99))
  }

  @Test func aRefusedCommitHasTheCodeOfItsCause() async throws {
    let missing = Mutation.patch(
      path("a/1"), StoredMap(), mask: FieldMask([]), precondition: .exists(true))
    #expect { try backend.commit(BackendCommit([missing])) } throws: { error in
      (error as? RemoteError)?.code == .notFound
    }
    let error = await withCheckedContinuation { continuation in
      backend.commit(BackendCommit([missing])) { result in
        if case .failure(let error) = result {
          continuation.resume(returning: Optional(error))
        } else {
          continuation.resume(returning: nil)
        }
      }
    }
    #expect(error?.code == .notFound)
  }

  // MARK: History

  @Test func theHistoryContinuesAfterAMark() throws {
    let times = try (1...5).map { try set("a/1", $0) }
    var mark = BackendMark(FeedPosition(1), times[0])
    var numbers: [StoredValue?] = []
    while let page = try backend.changes(after: mark, max: 2), !page.commits.isEmpty {
      for change in page.commits.flatMap(\.changes) {
        if case .written(let document) = change.outcome { numbers.append(document.fields["n"]) }
      }
      mark = page.end
    }
    #expect(numbers == (2...5).map { .integer($0) })
    #expect(mark == BackendMark(FeedPosition(5), times[4]))
    #expect(try backend.changes(after: mark, max: 2)?.end == mark)
  }

  @Test func aMarkOfAnotherHistoryHasNoChanges() throws {
    let times = try (1...3).map { try set("a/1", $0) }
    let wrong = [
      BackendMark(FeedPosition(2), times[0]), BackendMark(FeedPosition(2), times[2]),
      BackendMark(FeedPosition(4), times[2]), BackendMark(.start, .none),
      BackendMark(FeedPosition(.max), times[2]),
    ]
    #expect(try wrong.allSatisfy { try backend.changes(after: $0, max: 10) == nil })
    let later = SnapshotVersion(microseconds: times[1].microseconds)
    #expect(try backend.changes(after: BackendMark(FeedPosition(2), later), max: 10)?.commits.count == 1)
  }

  // MARK: Collections

  @Test func collectionsWithoutDocumentsAreListed() throws {
    for name in ["rooms/a/chats/b/lines/c", "rooms/a/pins/1", "rooms/b/chats/x", "users/1", "Zoo/1", "7/1"] {
      try set(name, 1)
    }
    _ = try store.commit([.set(DocumentPath(unchecked: ["__authority__", "life"]), StoredMap())])
    func ids(_ below: String?, after: String? = nil, max: Int = 100) throws -> [String] {
      try backend.snapshot(.now).collections(below: below.map { path($0) }, after: after, max: max)
    }
    #expect(try ids(nil) == ["7", "Zoo", "rooms", "users"])
    #expect(try ids(nil, after: "Zoo", max: 1) == ["rooms"])
    #expect(try ids("rooms/a") == ["chats", "pins"])
    #expect(try ids("rooms/a/chats/b") == ["lines"])
    #expect(try ids("rooms/b") == ["chats"])
    #expect(try ids("rooms/c") == [])
    #expect(try ids("users/1") == [])
  }

  @Test func documentsThatExistOnlyAsParentsAreListed() throws {
    for name in ["rooms/a/chats/1", "rooms/b", "rooms/c/rooms/d", "rooms/b/chats/2", "rooms/e/x/1/y/1"] {
      try set(name, 1)
    }
    func ids(_ collection: [String], after: String? = nil, max: Int = 100) throws -> [String] {
      try backend.snapshot(.now).documentIDs(
        in: CollectionPath(unchecked: collection), after: after, max: max)
    }
    #expect(try ids(["rooms"]) == ["a", "b", "c", "e"])
    #expect(try ids(["rooms"], after: "a", max: 2) == ["b", "c"])
    #expect(try ids(["rooms"], after: "c") == ["e"])
    #expect(try ids(["rooms", "c", "rooms"]) == ["d"])
    #expect(try ids(["rooms", "e", "x"]) == ["1"])
    #expect(try ids(["others"]) == [])
  }

  /// Names longer than the keys of the index have no order there.
  @Test func longNamesAreListed() throws {
    let long = String(repeating: "x", count: 1000)
    for name in ["\(long)1", "\(long)2", "a", "z"] { try set("rooms/\(name)/chats/1", 1) }
    let rooms = CollectionPath(unchecked: ["rooms"])
    let snapshot = try backend.snapshot(.now)
    #expect(try snapshot.documentIDs(in: rooms, after: nil, max: 9) == ["a", "\(long)1", "\(long)2", "z"])
    #expect(try snapshot.documentIDs(in: rooms, after: "\(long)1", max: 9) == ["\(long)2", "z"])
    #expect(try snapshot.collections(below: path("rooms/\(long)2"), after: nil, max: 9) == ["chats"])
  }

  @Test func manyDocumentsOfACollectionTakeOneStepEach() throws {
    for number in 0..<300 { try set("rooms/\(number)/chats/1", 1) }
    try set("rooms/150/pins/1", 1)
    let snapshot = try backend.snapshot(.now)
    #expect(try snapshot.collections(below: nil, after: nil, max: 9) == ["rooms"])
    #expect(try snapshot.collections(below: path("rooms/150"), after: nil, max: 9) == ["chats", "pins"])
    #expect(try snapshot.collections(below: path("rooms/299"), after: nil, max: 9) == ["chats"])
  }
}
