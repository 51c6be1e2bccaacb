// The authority's records of accepted batches. The records are small, and records in older formats can still
// be read.

import DocumentStore
import OfflineSync
import Testing

@testable import Authority

@Suite struct LoopbackLedgerTests {
  private let path = DocumentPath(unchecked: ["rooms", "a"])

  private func results(_ fields: StoredMap) throws -> [WriteResult] {
    let time = try #require(StoredTimestamp(microseconds: 10))
    let record = StoredDocument(path: path, createTime: time, updateTime: time, fields: fields)
    return LoopbackLedger.results(record, [Mutation](repeating: .delete(path), count: 5))
  }

  private func integers(_ numbers: [Int64]) -> StoredValue { .array(numbers.map { .integer($0) }) }

  /// The five documents were absent, changed, left unchanged, deleted, and ahead of the clock.
  @Test func previousUpdateTimesAreStoredOnceForBothUses() throws {
    let lists = [[StoredValue]](repeating: [], count: 5)
    let kept = try results(
      LoopbackLedger.fields(lists, [0, 0, 7, 0, 0], previousVersions: [0, 4, 7, -6, 20]))
    #expect(kept.map(\.version.microseconds) == [10, 10, 7, 10, 21])
    #expect(kept.map(\.versionBefore?.microseconds) == [0, 4, 7, 6, 20])
  }

  @Test func ledgerRecordsOfEarlierReleasesAreRead() throws {
    let early = StoredMap([("o", integers([0, 4, 0, 0, 20])), ("v", integers([0, 0, 7, 0, 0]))])
    #expect(try results(early).map(\.version.microseconds) == [10, 10, 7, 10, 21])
    #expect(try results(early).allSatisfy { $0.versionBefore == nil })
    let first = StoredMap([("v", integers([0, 0, 7, 0, 0]))])
    #expect(try results(first).map(\.version.microseconds) == [10, 10, 7, 10, 10])
  }

  @Test func invalidLedgerRecordsAreReadWithoutATrap() throws {
    let numbers = integers([.min, .max, -1, 0, 1])
    var counts: [Int] = []
    for names in [["b"], ["o"], ["b", "v"], ["o", "v"]] {
      let kept = try results(StoredMap(names.map { ($0, numbers) }))
      counts.append(kept.count)
      for time in kept.compactMap(\.versionBefore) { _ = time.stored }
    }
    #expect(counts == [5, 5, 5, 5])
  }

  /// The record of the batch is a document and must not exceed the limits of a document.
  @Test func aBatchOfTwentyThousandWritesIsAccepted() throws {
    let server = try Authority.of(try DocumentStore.openInMemory())
    let mutations = (0..<20_000).map { Mutation.delete(DocumentPath(unchecked: ["rooms", "\($0)"])) }
    let id = WriteID(queue: "c/-", run: RunID(1), batch: BatchID(1))
    let write = RemoteWrite(id: id, mutations: mutations, firstOpen: id.batch)
    #expect(try server.take(write, as: nil)?.results.count == 20_000)
  }
}
