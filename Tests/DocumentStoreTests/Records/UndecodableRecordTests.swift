// Documents with valid checksums and undecodable records, from an older version or a remote.
//
// Queries skip them, and they can be listed, deleted, overwritten and salvaged.

import ByteStore
import Foundation
import Harness
import StoreTools
import Testing

@testable import DocumentStore

@Suite struct UndecodableRecordTests {
  /// Faults that checksums do not detect.
  enum Fault: String, CaseIterable, Sendable {
    case nestedTooDeep, nameTooLong, pendingInPending, missingShape, noHead

    func record(n: Int64) -> [UInt8] {
      switch self {
      case .nestedTooDeep:
        var value = StoredValue.map(StoredMap([("end", .null)]))
        for _ in 0..<20 { value = .map(StoredMap([("m", value)])) }
        return whole(StoredMap([("n", .integer(n)), ("deep", value)]))
      case .nameTooLong:
        return whole(StoredMap([("n", .integer(n)), (String(repeating: "x", count: 1501), .null)]))
      case .pendingInPending:
        let inner = StoredValue.pendingTimestamp(.epoch, previous: nil)
        return whole(StoredMap([("n", .integer(n)), ("at", .pendingTimestamp(.epoch, previous: inner))]))
      case .missingShape:
        // A record in form 1: a time, and a map that uses shape 5000.
        var bytes: [UInt8] = [1] + [UInt8](repeating: 0, count: 8)
        bytes.append(varint: UInt64(5001 * 4))
        return bytes + [3]
      case .noHead: return [9, 9, 9]
      }
    }

    private func whole(_ fields: StoredMap) -> [UInt8] {
      RecordCodec.encode(createTime: .epoch, updateTime: .epoch, fields: fields)
    }

    /// Whether filters on `n` can be evaluated.
    var tellsN: Bool { self != .missingShape && self != .noHead }
  }

  private func open(_ directory: TemporaryDirectory) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return try DocumentStore.open(directory.path, options: options, platform: .real)
  }

  private func fill(_ store: DocumentStore, count: Int = 20) throws {
    for start in stride(from: 0, to: count, by: 10) {
      try store.commit(
        (start..<start + 10).map { .set(path("c", "d\($0)"), StoredMap([("n", .integer(Int64($0 % 10)))])) })
    }
    try store.commit([.set(path("other", "o"), StoredMap([("n", .integer(1))]))])
  }

  /// Writes undecodable records for documents of the collection `c` and reopens the store. The store reads
  /// the records from the WAL, or from the checkpoint if `flushed`.
  private func poison(
    _ directory: TemporaryDirectory, _ ids: [String], _ fault: Fault, n: Int64 = 77, flushed: Bool = false
  ) throws -> DocumentStore {
    var bytes = ByteStore.Options()
    bytes.maintenance = .manual
    let store = try ByteStore.open(directory.path, options: bytes)
    for id in ids {
      var batch = Batch(stamp: store.lastStamp + 1)
      try batch.put(fault.record(n: n), for: DocumentKey.encode(path("c", id)))
      try store.commit(batch)
    }
    try store.close()
    guard flushed else { return try open(directory) }
    let documents = try open(directory)
    try documents.compact()
    try documents.close()
    return try open(directory)
  }

  private func evidence(_ body: () throws -> Void) -> StorageEvidence? {
    guard case .corrupted(let evidence) = failure(of: body) else { return nil }
    return evidence
  }

  private func query(_ n: Int64) throws -> StructuredQuery { try all.where("n", .equal, .integer(n)) }

  private var all: StructuredQuery { .ofC }

  // MARK: Skipping

  @Test(arguments: Fault.allCases, [false, true])
  func anUndecodableDocumentFailsOnlyReadsThatNeedIt(fault: Fault, flushed: Bool) throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    try fill(store)
    try store.close()
    store = try poison(directory, ["bad"], fault, flushed: flushed)
    let corruption = try #require(evidence { _ = try store.document(at: path("c", "bad")) })
    #expect(
      corruption.message.contains("c/bad") && corruption.message.contains("delete")
        && corruption.message.contains("salvage"))
    #expect(try store.document(at: path("c", "d3"))?.fields == StoredMap([("n", .integer(3))]))
    #expect(try store.documents(StructuredQuery(.collection(path("other", "o").parent))).count == 1)
    #expect(evidence { _ = try store.documents(all) }?.message.contains("c/bad") == true)
    let (found, skipped) = try store.decodableDocuments(all)
    #expect(found.count == 20 && skipped == [path("c", "bad")])
    #expect(try store.holdsDocument(at: path("c", "bad")))
    #expect(try store.count(all) == 21)
    try store.commit([.set(path("c", "new"), StoredMap([("n", .integer(5))]))])
    #expect(try store.decodableDocuments(all).documents.count == 21)
    try store.close()
  }

  /// Guards against two errors: a query that fails because its index cannot be built, and an older index that
  /// silently leaves out the document.
  @Test(arguments: Fault.allCases, [false, true])
  func queriesFailOnlyIfTheyNeedAnUndecodableRecord(fault: Fault, isIndexed: Bool) throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    try fill(store, count: 100)
    if isIndexed {
      try store.createIndex(IndexDefinition("c", .collection, [.init(field("n"))]))
      try store.compact()
    }
    try store.close()
    store = try poison(directory, ["bad"], fault)
    var counts: [Int] = []
    var messages: [String?] = []
    for _ in 0..<2 {
      if fault.tellsN {
        counts.append(try store.documents(query(3)).count)
      } else {
        messages.append(evidence { _ = try store.documents(query(3)) }?.message)
      }
      messages.append(evidence { _ = try store.documents(query(77)) }?.message)
    }
    #expect(counts == (fault.tellsN ? [10, 10] : []))
    #expect(messages.filter { $0?.contains("c/bad") != true } == [])
    // Without the record, the index can be built.
    try store.commit([.delete(path("c", "bad"))])
    #expect(try store.documents(query(3)).count == 10)
    #expect(try store.documents(query(77)).isEmpty)
    #expect(store.indexList.contains { $0.definition.collectionID == "c" && !$0.isLost })
    #expect(try store.invariantBroken() == nil)
    try store.close()
    #expect(try DocumentStore.check(directory.path).isSound)
  }

  @Test(arguments: Fault.allCases, [false, true])
  func undecodableDocumentCanBeOverwritten(fault: Fault, isIndexed: Bool) throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    try fill(store)
    if isIndexed { try store.createIndex(IndexDefinition("c", .collection, [.init(field("n"))])) }
    try store.close()
    store = try poison(directory, ["bad"], fault)
    #expect(evidence { _ = try store.commit([.merge(path("c", "bad"), StoredMap([("m", .null)]))]) } != nil)
    let time = try store.commit([.set(path("c", "bad"), StoredMap([("n", .integer(3))]))])
    #expect(try store.document(at: path("c", "bad"))?.updateTime == time)
    #expect(try store.documents(query(3)).count == 3)
    #expect(try store.invariantBroken() == nil)
    try store.close()
    #expect(try DocumentStore.check(directory.path).isSound)
  }

  /// Guards against a check that reports a deleted document as damaged until the next flush.
  @Test(arguments: Fault.allCases, [true, false])
  func afterADeletionOrOverwriteTheStoreIsHealthy(fault: Fault, isDeleted: Bool) throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    try fill(store)
    try store.close()
    store = try poison(directory, ["bad"], fault, flushed: true)
    try store.commit([isDeleted ? .delete(path("c", "bad")) : .set(path("c", "bad"), StoredMap())])
    try store.close()
    #expect(try DocumentStore.check(directory.path).isSound)
    #expect(try DocumentStore.salvage(directory.path).bytes.outcome == .healthy)
  }

  // MARK: Repair

  /// Guards against merged findings. Two undecodable records at equal offsets in two different commits must
  /// be reported as two findings. Check, salvage and backup must agree.
  @Test(arguments: Fault.allCases, [false, true])
  func checkSalvageAndBackupNameTheSameDocuments(fault: Fault, flushed: Bool) throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    try fill(store)
    try store.close()
    store = try poison(directory, ["bad1", "bad2"], fault, flushed: flushed)
    let names = ["c/bad1", "c/bad2"]
    let target = TemporaryDirectory()
    let backup = try store.backup(to: target.path) { _ in }
    #expect(backup.undecodable.names.sorted() == names && backup.undecodable.count == 2)
    #expect(try store.check().undecodable.names.sorted() == names)
    try store.close()
    let report = try DocumentStore.check(directory.path)
    #expect(report.undecodable.names.sorted() == names && report.undecodable.count == 2)
    #expect(report.findings.count == (fault == .missingShape ? 1 : 2))
    let before = try directory.contents()
    let salvaged = try DocumentStore.salvage(directory.path)
    #expect(salvaged.bytes.outcome == .salvaged)
    #expect(salvaged.bytes.undecodable.names.sorted() == names && salvaged.bytes.undecodable.count == 2)
    // The bytes of every original file are kept.
    let kept = Set(try directory.contents().values)
    let unkept: Set = ["LOCK", "RESERVE", "SPARE"]
    let gone = before.filter { name, bytes in !unkept.contains(name) && !kept.contains(bytes) }
    #expect(gone.keys.sorted() == [])
    #expect(try DocumentStore.check(directory.path).isSound)
    let again = try DocumentStore.salvage(directory.path)
    #expect(again.bytes.outcome == .healthy && again.bytes.undecodable.isEmpty)
    store = try open(directory)
    #expect(try store.documents(all).count == 20)
    #expect(try store.document(at: path("c", "bad1")) == nil)
    #expect(try store.invariantBroken() == nil)
    try store.close()
    // The backup equals the store.
    #expect(try DocumentStore.check(target.path).undecodable.names.sorted() == names)
  }
}
