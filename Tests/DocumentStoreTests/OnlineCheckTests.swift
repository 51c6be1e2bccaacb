// The check of an open store: its files, records and indexes.

import ByteStore
import Foundation
import Harness
import Testing

@testable import DocumentStore

@Suite struct OnlineCheckTests {
  private func open(_ directory: TemporaryDirectory) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return try DocumentStore.open(directory.path, options: options, platform: .real)
  }

  private func fill(_ store: DocumentStore, count: Int = 200) throws {
    var random = SeededRandom(seed: 1)
    for n in 0..<count {
      let text = Data(random.bytes(225)).base64EncodedString()
      let fields = StoredMap([("n", .integer(Int64(n))), ("text", .string(text))])
      try store.commit([.set(try DocumentPath(["c", "d\(n)"]), fields)])
    }
    try store.createIndex(
      IndexDefinition("c", .collection, [IndexDefinition.Field(StoredFieldPath(dotted: "n"))]))
  }

  @Test func indexesAreComparedWithTheDocuments() throws {
    let directory = TemporaryDirectory()
    let store = try open(directory)
    try fill(store)
    try store.compact()
    var steps: [OnlineCheckProgress] = []
    let report = try store.checkOnline(progress: { steps.append($0) })
    #expect(report.findings == [] && report.documents == 200)
    // The declared index and the index of the names.
    #expect(report.indexes == 2)
    #expect(report.lastCommit == store.bytes.lastCommit)
    #expect(!steps.isEmpty && steps.allSatisfy { $0.step != .documents && $0.done <= $0.total })
    try store.close()
  }

  /// A compaction that runs in the middle of the check replaces the files that are still to be checked.
  @Test func aCompactionDuringTheCheckIsNoFinding() throws {
    let directory = TemporaryDirectory()
    let store = try open(directory)
    try fill(store)
    try store.compact()
    for n in 0..<100 { try store.commit([.delete(try DocumentPath(["c", "d\(n)"]))]) }
    var failures: [String] = []
    var isFirst = true
    let report = try store.checkOnline(progress: { _ in
      guard isFirst else { return }
      isFirst = false
      do {
        try store.commit([.set(try DocumentPath(["new", "one"]), StoredMap([("other", .integer(1))]))])
        try store.compact()
      } catch {
        failures.append("\(error)")
      }
    })
    #expect(failures == [])
    #expect(report.findings == [] && report.filesSkipped > 0)
    #expect(report.documents == 101)
    try store.close()
  }

  /// Regression: a check of a reader looked for its files by name after they were captured, and reported all
  /// of them as missing.
  @Test func aReaderChecksTheFilesOfItsWriter() throws {
    let directory = TemporaryDirectory()
    let store = try open(directory)
    try fill(store)
    try store.compact()
    var options = DocumentStore.Options()
    options.isReadOnly = true
    let reader = try DocumentStore.open(directory.path, options: options, platform: .real)
    var report = try reader.checkOnline()
    #expect(report.findings == [] && report.documents == 200 && report.files > 2)
    // The files that the reader has captured are deleted, and the new ones have a new shape.
    for n in 0..<4 {
      try store.commit([.set(try DocumentPath(["new", "d\(n)"]), StoredMap([("other", .integer(Int64(n)))]))])
    }
    try store.compact()
    report = try reader.checkOnline()
    #expect(report.findings == [] && report.filesSkipped == 0)
    #expect(report.documents == 200, "indexes are compared with the documents that are shown")
    try reader.refresh()
    report = try reader.checkOnline()
    #expect(report.findings == [] && report.documents == 204 && report.lastCommit == reader.bytes.lastCommit)
    let name = try #require(try directory.names.first { $0.hasPrefix("segment-") })
    var bytes = try directory.read(name)
    let start = try SegmentHeader(decoding: bytes.rawSpan, file: name).dataStart
    bytes[Int(start) + 3 * SegmentFormat.pageBytes + 100] ^= 0x10
    try directory.write(bytes, to: name)
    #expect(try !reader.checkOnline().findings.isEmpty)
    try reader.close()
    try store.close()
  }

  @Test func documentsInADamagedPageAreListed() throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    try fill(store)
    try store.compact()
    try store.close()
    let name = try #require(try directory.names.first { $0.hasPrefix("segment-") })
    var bytes = try directory.read(name)
    let start = try SegmentHeader(decoding: bytes.rawSpan, file: name).dataStart
    let page = Int(start) + 3 * SegmentFormat.pageBytes
    bytes[page + 100] ^= 0x10
    try directory.write(bytes, to: name)
    store = try open(directory)
    let report = try store.checkOnline()
    #expect(report.findings.map(\.loss) == [.documents] && report.documents == nil)
    #expect(report.findings.first?.file == "\(directory.path)/\(name)")
    #expect(report.findings.first?.offset == UInt64(page))
    let unreadable = try (0..<200).map { try DocumentPath(["c", "d\($0)"]) }.filter { path in
      (try? store.document(at: path)) == nil
    }
    #expect(!unreadable.isEmpty && unreadable.count < 200)
    #expect(Set(report.lostDocuments) == Set(unreadable.map(\.description)))
    #expect(report.lostDocumentsOmitted == 0)
    try store.close()
  }

  @Test func aContradictionIsAFindingWithoutAFileAndLosesNothing() throws {
    let directory = TemporaryDirectory()
    let store = try open(directory)
    var agreement = StoreAgreement()
    for n in 0..<StoreAgreement.contradictionsMax + 2 { agreement.add("contradiction \(n)") }
    var report = try store.checkOnline()
    report.add(agreement)
    #expect(report.findings.count == StoreAgreement.contradictionsMax && report.findingsOmitted == 2)
    #expect(report.findings.allSatisfy { $0.loss == .nothing && $0.file == nil && $0.offset == nil })
    try store.close()
  }

  /// A check that is cancelled in any of its steps ends with an error, and releases its snapshot.
  @Test func aCancelledCheckEndsSoon() throws {
    let directory = TemporaryDirectory()
    let store = try open(directory)
    try fill(store)
    try store.compact()
    var calls = 0
    _ = try store.checkOnline(isCancelled: {
      calls += 1
      return false
    })
    let all = calls
    var wrong: [String] = []
    for last in [1, all / 2, all] {
      calls = 0
      let error = failure {
        try store.checkOnline(isCancelled: {
          calls += 1
          return calls >= last
        })
      }
      guard case .closed = error else {
        wrong.append("cancelled at \(last) of \(all): \(String(describing: error))")
        continue
      }
      if calls > last + 1 { wrong.append("cancelled at \(last) of \(all): it asked \(calls) times") }
    }
    #expect(wrong == [])
    #expect(store.statistics.snapshots.open.isEmpty)
    try store.commit([.set(try DocumentPath(["c", "after"]), StoredMap([("n", .integer(1))]))])
    try store.close()
  }
}
