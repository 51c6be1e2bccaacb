// Documents stay encoded from the request of a commit to its changes.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct EncodedCommitTests {
  private let place = path("rooms", "eros")

  private func fields(_ number: Int64) -> StoredMap {
    StoredMap([("n", .integer(number)), ("name", .string("Eros")), ("tags", .array([.string("love")]))])
  }

  private func changes(_ store: DocumentStore, _ mutations: [Mutation]) throws -> [CommitChange] {
    let inProgress = try store.begin(mutations)
    try store.finish(inProgress)
    return inProgress.changes
  }

  private func isEncoded(_ document: StoredDocument?) -> Bool { document?.fields.record != nil }

  @Test func newAndOldDocumentsOfACommitAreRecords() throws {
    let store = try SimulatedStore().store
    try store.createIndex(IndexDefinition("rooms", .collection, [.init(field("n"))]))
    for number in 0..<3 {
      let changes = try changes(store, [.set(place, fields(Int64(number)))])
      #expect(changes.map { isEncoded($0.after) } == [true])
      guard case .document(let before)? = changes.first?.before else {
        #expect(number == 0, "the document existed")
        continue
      }
      #expect(isEncoded(before) && before.fields == fields(Int64(number - 1)))
    }
    #expect(try changes(store, [increment(place)]).map { isEncoded($0.after) } == [true])
    #expect(try store.document(at: place)?.fields["n"] == .integer(3))
    try store.checkInvariants()
  }

  /// The copied fields are a record of the same store, so they are not encoded again.
  @Test func fieldsOfAnotherDocumentAreCopied() throws {
    let store = try SimulatedStore().store
    // The shape is created when its names occur for the second time.
    for number in 0..<2 { try store.commit([.set(place, fields(Int64(number + 5)))]) }
    let first = try changes(store, [.set(place, fields(1))])
    let encoded = try #require(first.first?.after?.fields)
    let second = try changes(store, [.set(path("rooms", "psyche"), encoded)])
    #expect(second.first?.after?.fields.record === encoded.record)
    #expect(try store.document(at: path("rooms", "psyche"))?.fields == fields(1))
  }

  /// Shapes have other numbers in other stores.
  @Test func fieldsOfAnotherStoreAreEncodedAgain() throws {
    let (store, other) = (try SimulatedStore().store, try SimulatedStore().store)
    for number in 0..<3 {
      try other.commit([.set(place, StoredMap([("x", .integer(Int64(number)))]))])
      try other.commit([.set(place, fields(Int64(number)))])
    }
    let foreign = try #require(try changes(other, [.set(place, fields(9))]).first?.after?.fields)
    for number in 0..<3 { try store.commit([.set(path("rooms", "r\(number)"), foreign)]) }
    #expect(try (0..<3).allSatisfy { try store.document(at: path("rooms", "r\($0)"))?.fields == fields(9) })
    let placed = StoredDocument(
      path: place, createTime: timestamp(1), updateTime: timestamp(2), fields: foreign)
    try store.commit([.place(placed)])
    #expect(try store.document(at: place)?.fields == fields(9))
  }

  @Test func aCommitDefinesTheShapesOfCopiedRecords() throws {
    let machine = try SimulatedStore()
    let store = machine.store
    // The second commit creates the shape, and the pending commit that defines it is the base of the third.
    let first = try store.begin([.set(place, fields(1))])
    let second = try store.begin([.set(place, fields(2))])
    let third = try store.begin([increment(place)])
    for commit in [first, second, third] { try store.finish(commit) }
    #expect(try machine.afterPowerLoss().store.document(at: place)?.fields == fields(3))
  }

  /// An encoder that descended without a limit would exhaust the stack.
  @Test func fieldsBeyondTheDepthLimitAreRefusedBeforeTheyAreEncoded() throws {
    let store = try SimulatedStore().store
    let deep = (0..<2000).reduce(StoredValue.null) { inner, number in
      number % 2 == 0 ? .map(StoredMap([("m", inner)])) : .array([inner])
    }
    let complaint = failure { try store.commit([.set(place, StoredMap([("deep", deep)]))]) }?.complaint
    #expect(complaint?.hasPrefix("Maps and arrays may be nested 20 deep") == true)
    #expect(try store.document(at: place) == nil)
  }

  @Test func aDocumentThatIsDeletedAndWrittenInOneCommitIsOneChange() throws {
    let store = try SimulatedStore().store
    let created = try store.commit([.set(place, fields(1))])
    let changes = try changes(store, [.delete(place), .set(place, fields(1))])
    #expect(changes.count == 1 && changes[0].isUpdate)
    #expect(try store.document(at: place)?.createTime ?? created > created)
    #expect(try self.changes(store, [.delete(path("rooms", "none"), precondition: .none)]).count <= 1)
    try store.checkInvariants()
  }
}
