// Counts the memory allocations of queries that lend their documents to the caller. Such a query must not
// allocate for each index entry or document that it examines.
//
// The limit applies to release builds. In debug builds every loop over an array allocates, so the numbers are
// only printed.

import CAllocations
import DocumentStore
import Foundation
import Harness

enum Borrowed: Campaign {
  static let name = "borrowed"
  static let summary = "counts what queries that lend their documents allocate for each of them"
  static let amount = (option: "--documents", standard: Optional(20_000))

  /// The maximum number of allocations for each thousand documents. It is not zero, because a query may
  /// allocate for each node of an index or tree, and a node has many entries.
  private static let allocationsPerThousandMax = 20

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    guard allocations_are_counted() else { throw CocoaError(.featureUnsupported) }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-borrowed-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try DocumentStore.open(folder.appendingPathComponent("store").path)
    let large = max(options.amount ?? 1_000_000, 2000)
    for (collection, count) in [("small", 1000), ("large", large)] {
      for start in stride(from: 0, to: count, by: 500) {
        try store.commit(
          try (start..<min(start + 500, count)).map { number in
            .set(try DocumentPath([collection, "d\(number)"]), fields(number))
          })
      }
    }
    try store.compact()
    var result = CampaignResult(run: 0, failed: 0)
    for queryCase in queryCases {
      let (few, many) = (
        try measure(queryCase, "small", store), try measure(queryCase, "large", store)
      )
      let documentsRead = many.documentsRead - few.documentsRead
      let thousand = 1000 * (many.allocations - few.allocations) / max(documentsRead, 1)
      result.run += 1
      result.details.append(("\(queryCase.name)PerThousand", thousand))
      guard !isDebug, thousand > allocationsPerThousandMax || documentsRead <= 0 else { continue }
      result.failed += 1
      result.firstFailure =
        result.firstFailure
        ?? "\(queryCase.name): \(many.allocations - few.allocations) allocations for \(documentsRead) documents more"
    }
    try store.close()
    return result
  }

  private static var isDebug: Bool {
    #if DEBUG
    true
    #else
    false
    #endif
  }

  private static func fields(_ number: Int) -> StoredMap {
    StoredMap([
      ("name", .string("Person number \(number)")), ("town", .string("Town \(number % 7)")),
      ("age", .integer(Int64(number % 90))), ("score", .double(Double(number &* 48_271 % 1_000_003))),
      (
        "bio",
        .string("Number \(number) writes about the sea, the harbour, the weather and \(number &* 7919).")
      ),
      ("tags", .array([.string("tag \(number % 3)"), .string("tag \(number % 5)")])),
      ("place", .map(StoredMap([("street", .string("Harbour")), ("number", .integer(Int64(number)))]))),
    ])
  }

  // MARK: Query cases

  private struct QueryCase {
    var name: String
    var filter: FilterTree?
    var orders: [OrderBy] = []
  }

  private static func field(_ name: String) -> StoredFieldPath { StoredFieldPath(unchecked: [name]) }

  private static var queryCases: [QueryCase] {
    let ofTown = FilterTree.field(field("town"), .equal, .string("Town 3"))
    return [
      QueryCase(name: "scan"),
      QueryCase(name: "ordered", orders: [OrderBy(field("score"))]),
      QueryCase(name: "orderedDown", orders: [OrderBy(field("score"), .descending)]),
      QueryCase(name: "equality", filter: ofTown, orders: [OrderBy(field("score"))]),
      QueryCase(name: "range", filter: .field(field("score"), .greaterThan, .double(1000))),
      QueryCase(name: "element", filter: .field(field("tags"), .arrayContains, .string("tag 1"))),
      QueryCase(
        name: "compared",
        filter: .all([
          .field(field("score"), .greaterThanOrEqual, .double(0)),
          .field(field("name"), .notEqual, .string("nobody")),
        ])),
      QueryCase(
        name: "alternatives",
        filter: .field(field("town"), .isIn, .array([.string("Town 1"), .string("Town 2")])),
        orders: [OrderBy(field("score"))]),
      QueryCase(
        name: "join", filter: .all([ofTown, .field(field("tags"), .arrayContains, .string("tag 1"))]),
        orders: [OrderBy(field("score"))]),
    ]
  }

  private static func measure(
    _ queryCase: QueryCase, _ collection: String, _ store: DocumentStore
  ) throws -> (allocations: Int, documentsRead: Int) {
    var query = StructuredQuery(.collection(try CollectionPath([collection])))
    if let filter = queryCase.filter { query = try query.filtered(by: filter) }
    for order in queryCase.orders { query = try query.ordered(by: order) }
    var found = 0
    func ask() throws {
      found = 0
      try store.forEach(query) { document in
        var bytes = 0
        _ = document.forEachField { name, _ in bytes += name.bytes.byteCount }
        found += bytes > 0 ? 1 : 0
        return true
      }
    }
    // These runs build the index and load its pages.
    for _ in 0..<2 { try ask() }
    let before = allocations_of_this_thread()
    try ask()
    let allocations = Int(allocations_of_this_thread() - before)
    let explanation = try store.explain(query)
    guard found == explanation.results else { throw CocoaError(.coderInvalidValue) }
    return (allocations, max(explanation.documentsRead, explanation.entriesRead))
  }
}
