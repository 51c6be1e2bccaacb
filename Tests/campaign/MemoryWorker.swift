// The process that `campaign memory` measures.

import ByteStore
import DocumentStore
import Foundation
import Harness

enum MemoryWorker {
  static let word = "memory-worker"

  enum Phase: String, CaseIterable {
    /// Fills the store, while documents are read.
    case load
    /// Asks all kinds of queries, and builds indexes.
    case query
    /// Changes documents in random order, with a declared index.
    case update
  }

  static func main(_ words: [String]) -> Never {
    guard words.count == 5, let phase = Phase(rawValue: words[0]), let documents = Int(words[2]),
      let budget = Int(words[3]), let seed = UInt64(words[4])
    else { exit(2) }
    do {
      var options = DocumentStore.Options()
      options.memoryBudget = budget
      printLine("resident before the open: \(ProcessMeasures.residentBytes)")
      let store = try DocumentStore.open(words[1], options: options)
      var run = try MemoryRun(store, documents: documents, seed: seed)
      switch phase {
      case .load: try run.load()
      case .query: try run.query()
      case .update: try run.update()
      }
      run.report()
      try store.close()
      printLine("peak \(ProcessMeasures.peakResidentBytes)")
      exit(0)
    } catch {
      printLine("\(error)")
      exit(1)
    }
  }
}

/// The work of one phase.
private struct MemoryRun {
  private struct Problem: Error, CustomStringConvertible {
    var description: String
  }

  private static let perBatch = 500
  private static let groups = 1000

  private let store: DocumentStore
  private let documents: Int
  private let people: CollectionPath
  private var random: SeededRandom

  init(_ store: DocumentStore, documents: Int, seed: UInt64) throws {
    self.store = store
    self.documents = documents
    people = try CollectionPath(["people"])
    random = SeededRandom(seed: seed)
  }

  // MARK: Phases

  mutating func load() throws {
    for start in stride(from: 0, to: documents, by: Self.perBatch) {
      let numbers = start..<min(start + Self.perBatch, documents)
      try store.commit(numbers.map { .set(path($0), Self.fields($0, version: 0)) })
      try check(random.below(numbers.upperBound), versions: 0...0)
    }
    guard try store.documentCount() == documents else { throw Problem(description: "documents are missing") }
  }

  mutating func query() throws {
    try step("reads") { run in
      for _ in 0..<10_000 { try run.check(run.random.below(run.documents), versions: 0...0) }
    }
    try step("queries") { run in
      for _ in 0..<20 { try run.checkGroup(run.random.below(Self.groups), limit: nil) }
      for _ in 0..<20 { try run.checkGroup(run.random.below(Self.groups), limit: 5) }
    }
    try step("stream") { try $0.checkStream() }
    try step("whole result") { try $0.checkWholeResult() }
    try step("sort") { try $0.checkSort() }
    try step("aggregate") { try $0.checkAggregate() }
  }

  mutating func update() throws {
    let definition = try IndexDefinition("people", .collection, [.init(StoredFieldPath(["name"]))])
    try note("declared index") { _ = try store.createIndex(definition) }
    for start in stride(from: 0, to: documents / 5, by: Self.perBatch) {
      let numbers = Set((0..<min(Self.perBatch, documents / 5 - start)).map { _ in random.below(documents) })
      try store.commit(numbers.map { .set(path($0), Self.fields($0, version: 1)) })
      try check(random.below(documents), versions: 0...1)
    }
  }

  /// Runs a step, and prints the peak of the memory so far.
  private mutating func step(_ name: String, _ body: (inout MemoryRun) throws -> Void) throws {
    let start = ContinuousClock.now
    try body(&self)
    let seconds = (ContinuousClock.now - start).components.seconds
    printLine("\(name): \(seconds) s, peak \(ProcessMeasures.peakResidentBytes)")
  }

  /// Prints how the memory is used at the end of a phase.
  func report() {
    let use = store.memoryUse
    printLine(
      "key directory \(use.keyDirectory), indexes \(use.layer.fixedBytes) and \(use.layer.evictableBytes), "
        + "memtable \(use.memtable), cache \(use.cache), operations \(use.operations), total \(use.total), "
        + "refused \(store.memoryBudget?.refusalCount ?? 0), resident \(ProcessMeasures.residentBytes)")
  }

  // MARK: Documents

  private func path(_ number: Int) -> DocumentPath {
    DocumentPath(unchecked: ["people", Self.id(number)])
  }

  /// Ids in random order, as apps create them.
  private static func id(_ number: Int) -> String {
    let mixed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
    return String(mixed, radix: 36) + "-\(number)"
  }

  /// Different for each of a million documents.
  private static func rank(_ number: Int) -> Int { number &* 7919 % 1_000_003 }

  private static func fields(_ number: Int, version: Int) -> StoredMap {
    StoredMap([
      ("number", .integer(Int64(number))), ("version", .integer(Int64(version))),
      ("group", .integer(Int64(number % groups))), ("rank", .integer(Int64(rank(number)))),
      ("name", .string("person \(number) of version \(version)")),
      ("text", .string(String(repeating: "\(number &* 31 % 9973) lorem ", count: 12))),
    ])
  }

  private func check(_ number: Int, versions: ClosedRange<Int>) throws {
    let found = try store.document(at: path(number))?.fields
    guard versions.contains(where: { found == Self.fields(number, version: $0) }) else {
      throw Problem(description: "document \(number) is wrong or missing")
    }
  }

  // MARK: Queries

  private var all: StructuredQuery { StructuredQuery(.collection(people)) }

  private func checkGroup(_ group: Int, limit: Int?) throws {
    var query = try all.filtered(
      by: .field(FieldFilter(StoredFieldPath(["group"]), .equal, .integer(Int64(group)))))
    query = try query.ordered(by: OrderBy(StoredFieldPath(["rank"]), .descending))
    if let limit { query = try query.limited(to: .first(limit)) }
    let expected = stride(from: group, to: documents, by: Self.groups).map(Self.rank).sorted(by: >)
      .prefix(limit ?? .max).map { StoredValue.integer(Int64($0)) }
    let found = try store.documents(query).map { $0.fields["rank"] ?? .null }
    guard found == expected else { throw Problem(description: "group \(group) is wrong") }
  }

  /// Reads all documents one by one, which needs no memory.
  private func checkStream() throws {
    var seen = 0
    try store.forEach(all) { _ in
      seen += 1
      return true
    }
    guard seen == documents else { throw Problem(description: "\(seen) of \(documents) documents were read") }
  }

  /// A result of all documents is either complete or refused.
  private func checkWholeResult() throws {
    try note("whole result") {
      guard try store.documents(all).count == documents else {
        throw Problem(description: "a result is incomplete")
      }
    }
  }

  /// Sorts all documents without an index, for a few results.
  private func checkSort() throws {
    store.createsIndexes = false
    defer { store.createsIndexes = true }
    let query = try all.ordered(by: OrderBy(StoredFieldPath(["number"]), .descending)).limited(to: .first(20))
    let expected = (0..<min(20, documents)).map { StoredValue.integer(Int64(documents - 1 - $0)) }
    guard try store.documents(query).map({ $0.fields["number"] ?? .null }) == expected else {
      throw Problem(description: "the sorted documents are wrong")
    }
  }

  private func checkAggregate() throws {
    let field = try StoredFieldPath(["number"])
    let sum = try store.aggregate([.sum(field)], over: all)
    guard sum == [.integer(Int64(documents) * Int64(documents - 1) / 2)] else {
      throw Problem(description: "the sum is \(sum)")
    }
  }

  /// Runs an operation that the budget may refuse.
  private func note(_ name: String, _ body: () throws -> Void) throws {
    do {
      try body()
      printLine("\(name): done")
    } catch DocumentStoreError.memoryExceeded(let message) {
      printLine("\(name): \(message)")
    }
  }
}
