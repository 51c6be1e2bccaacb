// Reading the documents of a query page by page.

import Authority
import ByteStore
import DocumentStore
import Foundation
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite struct DocumentsSequenceTests {
  private typealias Consistency = Query.DocumentsSequence.Consistency

  /// Creates documents with the ids "00", "01" and so on.
  private func items(_ count: Int, in firestore: Firestore) async throws -> CollectionReference {
    let items = firestore.collection("items")
    let batch = firestore.batch()
    for n in 0..<count {
      let fields: [String: Any] = ["n": n, "third": n % 3]
      batch.setData(fields, forDocument: items.document(n < 10 ? "0\(n)" : "\(n)"))
    }
    try await batch.commit()
    return items
  }

  /// Returns the ids of all documents of a sequence.
  private func ids(_ documents: Query.DocumentsSequence) async throws -> [String] {
    var ids: [String] = []
    for try await document in documents { ids.append(document.documentID) }
    return ids
  }

  private func pinnedSnapshots(_ firestore: Firestore) throws -> Int {
    try #require(firestore.client().store.openView).store.statistics.snapshots.count
  }

  @Test(arguments: [1, 2, 4, 100]) func pagesHaveTheDocumentsOfTheQueryInItsOrder(pageSize: Int) async throws
  {
    let firestore = Firestore.memory()
    let items = try await items(12, in: firestore)
    let queries: [Query] = [
      items, items.whereField("third", isEqualTo: 1), items.whereField("n", isGreaterThan: 3),
      items.order(by: "third").order(by: "n", descending: true), items.order(by: "third", descending: true),
      items.limit(to: 4), items.limit(to: 5), items.limit(to: 100), items.whereField("n", isLessThan: 0),
      items.order(by: "n").start(after: [2]).end(at: [9]), items.order(by: "n").limit(toLast: 5),
      items.order(by: "third").limit(toLast: 8), items.order(by: "n").limit(toLast: 100),
      items.order(by: "n").start(at: [3]).limit(toLast: 4), firestore.collectionGroup("items"),
    ]
    var wrong: [String] = []
    for query in queries {
      let expected = try await query.getDocuments().documents.map(\.documentID)
      for consistency in [Consistency.snapshot, .live] {
        let documents = firestore.documents(in: query, pageSize: pageSize, consistency: consistency)
        let found = try await ids(documents)
        if found != expected { wrong.append("\(consistency): \(found) instead of \(expected)") }
      }
    }
    #expect(wrong == [])
    try await firestore.terminate()
  }

  @Test func allPagesOfASnapshotShowOneState() async throws {
    let firestore = Firestore.memory()
    let items = try await items(7, in: firestore)
    var found: [String] = []
    for try await document in firestore.documents(in: items, pageSize: 2) {
      found.append("\(document.documentID)=\(document["n"] as? Int ?? -1)")
      guard found.count == 1 else { continue }
      try await items.document("03").updateData(["n": 30])
      try await items.document("05").delete()
      try await items.document("055").setData(["n": 55])
    }
    #expect(found == ["00=0", "01=1", "02=2", "03=3", "04=4", "05=5", "06=6"])
    try await firestore.terminate()
  }

  @Test func aSnapshotContainsTheWritesIssuedBefore() async throws {
    let firestore = Firestore.memory()
    let items = firestore.collection("items")
    items.document("1").setData(["n": 1], completion: nil)
    #expect(try await ids(firestore.documents(in: items)) == ["1"])
    try await firestore.terminate()
  }

  @Test func aLiveReaderReadsOnlyOnePageAhead() async throws {
    let firestore = Firestore.memory()
    let items = try await items(7, in: firestore)
    var found: [String] = []
    for try await document in firestore.documents(in: items, pageSize: 2, consistency: .live) {
      found.append("\(document.documentID)=\(document["n"] as? Int ?? -1)")
      guard found.count == 1 else { continue }
      // The document "01" is on the page that has been read.
      try await items.document("01").updateData(["n": 10])
      try await items.document("02").updateData(["n": 20])
      try await items.document("05").delete()
      try await items.document("055").setData(["n": 55])
    }
    #expect(found == ["00=0", "01=1", "02=20", "03=3", "04=4", "055=55", "06=6"])
    try await firestore.terminate()
  }

  @Test func noPageIsLargerThanAsked() throws {
    var cursor = PageCursor(
      try StructuredQuery(.collection(CollectionPath(["items"]))).limited(to: .first(7)), pageSize: 3)
    var limits: [StructuredQuery.Limit?] = []
    var counts = [3, 3, 1]
    while !cursor.isAtEnd {
      limits.append(try cursor.page.limit)
      let last = StoredDocument(
        path: try DocumentPath(["items", "\(limits.count)"]), createTime: .epoch, updateTime: .epoch,
        fields: StoredMap())
      try cursor.advance(count: counts.removeFirst(), last: last)
    }
    #expect(limits == [.first(3), .first(3), .first(1)])
  }

  // MARK: The end

  @Test func theSnapshotIsReleasedAtTheEnd() async throws {
    let firestore = Firestore.memory()
    let items = try await items(4, in: firestore)
    var documents = firestore.documents(in: items, pageSize: 3).makeAsyncIterator()
    #expect(try pinnedSnapshots(firestore) == 0)
    #expect(try await documents.next()?.documentID == "00")
    #expect(try pinnedSnapshots(firestore) == 1)
    while try await documents.next() != nil {}
    #expect(try pinnedSnapshots(firestore) == 0)
    #expect(try await documents.next() == nil)
    try await firestore.terminate()
  }

  @Test func theSnapshotIsReleasedWhenTheLoopExits() async throws {
    let firestore = Firestore.memory()
    let items = try await items(4, in: firestore)
    func pinnedInLoop() async throws -> Int {
      for try await _ in firestore.documents(in: items, pageSize: 1) { return try pinnedSnapshots(firestore) }
      return -1
    }
    #expect(try await pinnedInLoop() == 1)
    #expect(try pinnedSnapshots(firestore) == 0)
    try await firestore.terminate()
  }

  @Test func cancellationThrowsAndReleasesTheSnapshot() async throws {
    let firestore = Firestore.memory()
    let items = try await items(4, in: firestore)
    let task = Task {
      var documents = firestore.documents(in: items, pageSize: 3).makeAsyncIterator()
      #expect(try await documents.next() != nil)
      #expect(try pinnedSnapshots(firestore) == 1)
      withUnsafeCurrentTask { $0?.cancel() }
      do {
        _ = try await documents.next()
        Issue.record("a cancelled loop went on")
      } catch is CancellationError {}
      #expect(try pinnedSnapshots(firestore) == 0)
      #expect(try await documents.next() == nil)
    }
    try await task.value
    try await firestore.terminate()
  }

  @Test func terminationThrowsAndReleasesTheSnapshot() async throws {
    let database = try TestDatabase()
    let folder = database.folder.appendingPathComponent("shared")
    let (first, second) = (try Firestore.open(at: folder), try Firestore.open(at: folder))
    let items = try await items(4, in: first)
    var documents = first.documents(in: items, pageSize: 3).makeAsyncIterator()
    var live = first.documents(in: items, pageSize: 1, consistency: .live).makeAsyncIterator()
    #expect(try await documents.next()?.documentID == "00")
    #expect(try await live.next()?.documentID == "00")
    try await first.terminate()
    // The store is still open, because another instance uses it.
    #expect(try pinnedSnapshots(second) == 1)
    do {
      _ = try await documents.next()
      Issue.record("the loop went on")
    } catch FirestoreErrorCode.failedPrecondition {}
    do {
      _ = try await live.next()
      Issue.record("the live loop went on")
    } catch FirestoreErrorCode.failedPrecondition {}
    #expect(try pinnedSnapshots(second) == 0)
    try await second.terminate()
    await database.close()
  }

  @Test func anInvalidQueryThrows() async throws {
    let firestore = Firestore.memory()
    do {
      _ = try await ids(firestore.documents(in: firestore.collection("__bad__")))
      Issue.record("the query ran")
    } catch FirestoreErrorCode.invalidArgument {}
    try await firestore.terminate()
  }

  // MARK: A remote

  @Test func withARemoteASnapshotShowsTheCacheAndLivePagesAskTheRemote() async throws {
    let authority = try DocumentStore.openInMemory()
    let firestore = Firestore.memory()
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = try LoopbackRemote(authority: authority)
    settings.acknowledgement = .local
    firestore.settings = settings
    try await firestore.disableNetwork()
    let items = firestore.collection("items")
    try await items.document("2").setData(["n": 2])
    try authority.commit([.set(try DocumentPath(["items", "1"]), StoredMap([("n", .integer(1))]))])
    var cached: [QueryDocumentSnapshot] = []
    for try await document in firestore.documents(in: items, pageSize: 1) { cached.append(document) }
    #expect(cached.map(\.documentID) == ["2"])
    #expect(cached.map(\.metadata.isFromCache) == [true])
    #expect(cached.map(\.metadata.hasPendingWrites) == [true])
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    #expect(try await ids(firestore.documents(in: items, pageSize: 1, consistency: .live)) == ["1", "2"])
    try await firestore.terminate()
  }
}
