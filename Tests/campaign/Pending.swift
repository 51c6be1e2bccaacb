// Compares reads of a large cache that has many pending writes with reads of a database without a remote.
// Runs on real files.

import DocumentStore
import Foundation
import Harness

enum Pending: Campaign {
  static let name = "pending"
  static let summary =
    "queries over a cache with a hundredth of its documents pending: the plans, the work and the times of one without a remote"
  static let amount = (option: "--documents", standard: Optional(100_000))

  private static let rounds = 101
  private static let rowsOfGets = 10_001

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let documents = options.amount ?? 1_000_000
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-pending-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let reads = try PendingReads(
      documents: documents, pending: max(1, documents / 100)
    ) { name throws(DocumentStoreError) in
      try DocumentStore.open(folder.appendingPathComponent(name).path)
    }
    var result = CampaignResult(run: 0, failed: 0)
    var table = [["", "results", "pending", "documents read", "cache", "standalone", "ratio"]]
    for queryCase in try reads.queryCases() {
      let comparison = try reads.compare(queryCase)
      let times = try reads.times(of: queryCase, rounds: rounds)
      result.run += 1
      table.append(
        [
          queryCase.name, "\(comparison.results)", "\(comparison.pendingResults)",
          "\(comparison.documentsRead)",
        ]
          + cells(times))
      guard let difference = comparison.difference else { continue }
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "\(queryCase.name): \(difference)"
    }
    let different = try reads.differentGets()
    result.run += 1
    if let path = different.first {
      result.failed += 1
      result.firstFailure =
        result.firstFailure ?? "\(path) and \(different.count - 1) others are read otherwise"
    }
    table.append(["a document", "1", "1", "1"] + cells(try reads.timesOfGets(rounds: rowsOfGets)))
    result.details = [("documents", documents), ("pendingBatches", reads.pendingBatches)]
    options.printUnlessJSON(TextTable.text(table))
    try reads.close()
    return result
  }

  private static func cells(_ times: PendingReads.Times) -> [String] {
    [
      String(format: "%.1f us", times.cache / 1000), String(format: "%.1f us", times.standalone / 1000),
      String(format: "%.2f", times.ratio),
    ]
  }
}
