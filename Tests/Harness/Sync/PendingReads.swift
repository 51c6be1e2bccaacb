// Compares the cost of reads in a cache with many pending writes with their cost in a database without a
// remote.
//
// The cache and the database show equal documents.

import ByteStore
package import DocumentStore
import OfflineSync

package struct PendingReads {
  package let documents: Int
  package let pending: Int
  private let local: LocalStore
  private let other: DocumentStore

  private static let documentsPerCommit = 500
  private static let rooms = CollectionPath(unchecked: ["rooms"])
  private static let n = StoredFieldPath(unchecked: ["n"])

  /// Creates the cache and the database. In the cache, `pending` of the documents, evenly spread, have four
  /// pending writes each: a set, followed by three increments.
  package init(
    documents: Int, pending: Int, open: (String) throws(DocumentStoreError) -> DocumentStore
  ) throws {
    precondition(pending > 0 && pending <= documents, "there is something to compare")
    self.documents = documents
    self.pending = pending
    local = try LocalStore(try open("cache"), user: nil, collector: .lru, client: "client")
    other = try open("standalone")
    try fillCache()
    try fillOther()
  }

  package var pendingBatches: Int { local.queue.count }

  package func close() throws {
    try local.store.close()
    try other.close()
  }

  // MARK: What they have

  package static func path(_ number: Int) -> DocumentPath { DocumentPath(unchecked: ["rooms", "\(number)"]) }

  private func fields(_ number: Int, _ n: Int) -> StoredMap {
    StoredMap([
      ("n", .integer(Int64(n))), ("kind", .string(number % 3 == 0 ? "a" : "b")),
      ("title", .string("Room \(number) of the house")),
    ])
  }

  private var step: Int { documents / pending }

  /// Returns the position of a document among those with pending writes; nil if it has no pending writes.
  private func turn(_ number: Int) -> Int? {
    number % step == 0 && number / step < pending ? number / step : nil
  }

  /// Returns the value of a document after all writes.
  private func last(_ number: Int) -> Int { turn(number).map { 3 - $0 } ?? number }

  private func fillCache() throws {
    let target = try local.allocate(StructuredQuery(.collection(Self.rooms))).id
    for start in stride(from: 0, to: documents, by: Self.documentsPerCommit) {
      var event = RemoteEvent(version: SnapshotVersion(microseconds: Int64(start) + 1))
      var change = TargetChange(resumeToken: [1])
      for number in start..<min(documents, start + Self.documentsPerCommit) {
        let path = Self.path(number)
        event.documents[path] = SyncedDocument(
          path, .found(fields(number, number)), version: event.version, createTime: event.version)
        change.added.insert(path)
      }
      event.targetChanges[target] = change
      _ = try local.apply(event)
    }
    guard let time = StoredTimestamp(microseconds: 1) else { return }
    for turn in 0..<pending {
      let path = Self.path(turn * step)
      let one = FieldTransform(Self.n, .increment(.integer(1)))
      _ = try local.write([.set(path, fields(turn * step, -turn))], at: time, durability: .buffered)
      for _ in 0..<3 {
        _ = try local.write(
          [.patch(path, StoredMap(), mask: FieldMask([]), transforms: [one])], at: time, durability: .buffered
        )
      }
    }
  }

  private func fillOther() throws {
    for start in stride(from: 0, to: documents, by: Self.documentsPerCommit) {
      let numbers = start..<min(documents, start + Self.documentsPerCommit)
      try other.commit(numbers.map { .set(Self.path($0), fields($0, last($0))) })
    }
  }

  // MARK: What is asked

  package struct QueryCase: Sendable {
    package let name: String
    package let query: StructuredQuery
  }

  package func queryCases() throws -> [QueryCase] {
    let rooms = StructuredQuery(.collection(Self.rooms))
    let kind = StoredFieldPath(unchecked: ["kind"])
    let ofA = try rooms.filtered(by: .field(kind, .equal, .string("a")))
    let few: [StoredValue] = [-3, 7, 30].map { .integer($0) }
    let below = Int64(3 - pending + pending / 6)
    return [
      QueryCase(
        name: "below a number, pending alone",
        query: try rooms.filtered(by: .field(Self.n, .lessThan, .integer(below)))),
      QueryCase(
        name: "in order, the last 20",
        query: try rooms.ordered(by: OrderBy(Self.n, .descending)).limited(to: .first(20))),
      QueryCase(
        name: "in order, limit to last 5",
        query: try rooms.ordered(by: OrderBy(Self.n, .ascending)).limited(to: .last(5))),
      QueryCase(
        name: "of one kind in order, 10",
        query: try ofA.ordered(by: OrderBy(Self.n, .ascending)).limited(to: .first(10))),
      QueryCase(
        name: "one of three numbers",
        query: try rooms.filtered(by: .field(Self.n, .isIn, .array(few)))),
    ]
  }

  package struct Comparison: Sendable {
    package var results = 0
    package var pendingResults = 0
    package var documentsRead = 0
    package var entriesRead = 0
    /// A description of the first difference between the cache and the database, or nil.
    package var difference: String?
  }

  /// Runs a query on the cache and on the database, and compares the results and the costs.
  package func compare(_ queryCase: QueryCase) throws -> Comparison {
    let (found, expected) = (
      try local.documents(queryCase.query), try other.documents(queryCase.query)
    )
    var comparison = Comparison(results: found.count)
    comparison.pendingResults = found.count { $0.pending == .local }
    let agree = zip(found, expected).allSatisfy { isSame($0, $1) }
    if found.count != expected.count || !agree {
      comparison.difference = "\(found.map(\.path)) in place of \(expected.map(\.path))"
      return comparison
    }
    let (here, there) = (try local.store.explain(queryCase.query), try other.explain(queryCase.query))
    (comparison.documentsRead, comparison.entriesRead) = (here.documentsRead, here.entriesRead)
    if here.plan != there.plan {
      comparison.difference = "\(here.plan) in place of \(there.plan)"
    } else if here.documentsRead != there.documentsRead || here.entriesRead != there.entriesRead {
      comparison.difference =
        "\(here.documentsRead) documents and \(here.entriesRead) entries read, in place of "
        + "\(there.documentsRead) and \(there.entriesRead)"
    }
    return comparison
  }

  /// Returns whether a document of the cache equals the expected one and has the expected pending-write flag.
  private func isSame(_ found: SyncedDocument, _ expected: StoredDocument) -> Bool {
    let isPending = Int(expected.path.id).flatMap(turn) != nil
    return found.path == expected.path && found.fields == expected.fields
      && found.pending == (isPending ? .local : .none)
  }

  /// Reads documents with and without pending writes, one at a time. Returns the paths of the documents that
  /// differ.
  package func differentGets() throws -> [DocumentPath] {
    try stride(from: 0, to: documents, by: max(1, step / 3)).map(Self.path).filter { path in
      guard let expected = try other.document(at: path) else { return true }
      return try !isSame(local.document(path), expected)
    }
  }

  // MARK: How long it takes

  package struct Times: Sendable {
    /// Medians in nanoseconds.
    package var cache: Double
    package var standalone: Double
    package var ratio: Double { cache / standalone }
  }

  /// Measures both alternately.
  package func times(of queryCase: QueryCase, rounds: Int) throws -> Times {
    try times(rounds) { _ in
      _ = try local.documents(queryCase.query)
    } and: { _ in
      _ = try other.documents(queryCase.query)
    }
  }

  /// Measures reads of documents with pending writes.
  package func timesOfGets(rounds: Int) throws -> Times {
    try times(rounds) { round in
      _ = try local.document(Self.path(round * 7 % pending * step))
    } and: { round in
      _ = try other.document(at: Self.path(round * 7 % pending * step))
    }
  }

  private func times(
    _ rounds: Int, _ first: (Int) throws -> Void, and second: (Int) throws -> Void
  ) throws -> Times {
    let clock = ContinuousClock()
    var (here, there): ([Double], [Double]) = ([], [])
    for round in 0..<rounds {
      here.append(try clock.measure { try first(round) } / .nanoseconds(1))
      there.append(try clock.measure { try second(round) } / .nanoseconds(1))
    }
    return Times(cache: here.sorted()[rounds / 2], standalone: there.sorted()[rounds / 2])
  }
}
