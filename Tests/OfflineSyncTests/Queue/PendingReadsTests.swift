// The cost of reads with many pending writes.
//
// The store contains the local view, so queries use ordinary indexes with the same work as in a database
// without a remote.

import CAllocations
import DocumentStore
import Harness
import OfflineSync
import Testing

@Suite struct PendingReadsTests {
  @Test func queriesOverPendingWritesUseTheRegularIndexes() throws {
    let reads = try PendingReads(documents: 3000, pending: 300) { _ throws(DocumentStoreError) in
      try DocumentStore.openInMemory()
    }
    var pendingFound = 0
    var wrong: [String] = []
    for queryCase in try reads.queryCases() {
      let comparison = try reads.compare(queryCase)
      if let difference = comparison.difference { wrong.append("\(queryCase.name): \(difference)") }
      if comparison.documentsRead >= 100 {
        wrong.append("\(queryCase.name): read \(comparison.documentsRead) documents")
      }
      pendingFound += comparison.pendingResults
    }
    #expect(wrong == [])
    #expect(try reads.differentGets().isEmpty)
    #expect(reads.pendingBatches == 1200 && pendingFound > 50)
    try reads.close()
  }

  /// Pending writes are applied once, when they are queued. Reads do not apply them again.
  @Test(.enabled(if: allocations_are_counted())) func theCostOfAGetDoesNotGrowWithPendingWrites()
    throws
  {
    let time = try #require(StoredTimestamp(microseconds: 1))
    let n = StoredFieldPath(unchecked: ["n"])
    let path = DocumentPath(unchecked: ["rooms", "x"])
    var counts: [UInt] = []
    var values: [StoredValue?] = []
    // Uses separate stores, because adjacent hashes of two paths in the same store would cause a comparison
    // of the paths.
    for writes in [1, 1000] {
      let local = try LocalStore(
        try DocumentStore.openInMemory(), user: nil, collector: .lru, client: "client")
      for _ in 0..<writes {
        let one = FieldTransform(n, .increment(.integer(1)))
        _ = try local.write([.patch(path, StoredMap(), mask: FieldMask([]), transforms: [one])], at: time)
      }
      values.append(try local.document(path).fields?["n"])
      let before = allocations_of_this_thread()
      _ = try local.document(path)
      counts.append(allocations_of_this_thread() - before)
    }
    let expected: [StoredValue?] = [.integer(1), .integer(1000)]
    #expect(values == expected)
    #expect(counts[0] == counts[1], "\(counts)")
  }
}
