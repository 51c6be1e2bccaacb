// Disk and allocation costs of commits.
//
// These counts are the same on every machine. A change that increases a count fails here; a change that
// reduces a count sets the new limit.

import ByteStore
import CAllocations
import Harness
import Testing

@testable import DocumentStore

@Suite struct CommitCostTests {
  @Test func commitSyncsOnceRegardlessOfItsSize() throws {
    let machine = try SimulatedStore()
    // Create the log file first, so that the later commits each write one page of it.
    try machine.store.commit([.set(path("c", "first"), CostDocument.fields(0))])
    var (fileSyncs, directorySyncs): ([Int], [Int]) = ([], [])
    for (number, documents) in [1, 2, 10].enumerated() {
      let before = machine.disk.counters
      try machine.store.commit(
        (0..<documents).map { .set(path("c", "\(number)-\($0)"), CostDocument.fields($0)) })
      let after = machine.disk.counters
      fileSyncs.append(after.fileSyncs - before.fileSyncs)
      directorySyncs.append(after.directorySyncs - before.directorySyncs)
    }
    #expect(fileSyncs == [1, 1, 1])
    #expect(directorySyncs == [0, 0, 0])
  }

  @Test func aCommitOfOneDocumentWritesOnePage() throws {
    let machine = try SimulatedStore()
    try machine.store.commit([.set(path("c", "first"), CostDocument.fields(0))])
    let before = machine.disk.counters.bytesWritten
    for number in 0..<4 {
      try machine.store.commit([.set(path("c", "\(number)"), CostDocument.fields(number))])
    }
    #expect(machine.disk.counters.bytesWritten - before == 4 * 4096)
  }

  /// Guards against building an error message for every field that is checked.
  @Test(.enabled(if: allocations_are_counted())) func aCommitAllocatesLittleForEachField() throws {
    let machine = try SimulatedStore()
    func fields(_ count: Int, _ number: Int) -> StoredMap {
      StoredMap((0..<count).map { ("a name of some length \($0)", .integer(Int64(number))) })
    }
    func count(_ fieldCount: Int) throws -> Double {
      let writes = (0..<64).map { [Mutation.set(path("c", "d\($0)"), fields(fieldCount, $0))] }
      return try allocations(writes.count) { try machine.store.commit(writes[$0]) }
    }
    let perField = (try count(40) - count(10)) / 30
    #expect(perField <= Self.allocationsOfFieldMax, "\(perField) allocations for each field")
  }

  /// Each lock is one allocation, and a commit creates several.
  @Test(.enabled(if: allocations_are_counted())) func aCommitOfOneDocumentAllocatesLittle() throws {
    let machine = try SimulatedStore()
    let writes = (0..<64).map { [Mutation.set(path("c", "d\($0 % 8)"), CostDocument.fields($0))] }
    let count = try allocations(writes.count) { try machine.store.commit(writes[$0]) }
    #expect(count <= Self.allocationsOfCommitMax, "\(count) allocations for a commit")
  }

  /// Records are encoded into one buffer, and bodies are allocated at their final size.
  @Test(.enabled(if: allocations_are_counted())) func aBatchAllocatesLittleForEachDocument() throws {
    let machine = try SimulatedStore()
    try machine.store.createIndex(IndexDefinition("c", .collection, [.init("name")]))
    func count(_ documents: Int) throws -> Double {
      var round = 0
      let batches = (0..<16).map { round in
        (0..<documents).map { Mutation.set(path("c", "d\($0)"), CostDocument.fields($0 + round)) }
      }
      return try allocations(8) { _ in
        try machine.store.commit(batches[round])
        round += 1
      }
    }
    let perDocument = (try count(200) - count(100)) / 100
    #expect(perDocument <= Self.allocationsOfDocumentMax, "\(perDocument) allocations for each document")
  }

  @Test(.enabled(if: allocations_are_counted()))
  func indexOnOtherFieldsAddsLittleCostToAnUpdate() throws {
    let machine = try SimulatedStore()
    for number in 0..<64 {
      try machine.store.commit([.set(path("c", "d\(number)"), CostDocument.fields(number))])
    }
    var age: Int64 = 1000
    func count() throws -> Double {
      let writes = try (0..<128).map { number in
        age += 1
        let field = StoredFieldPath(unchecked: ["age"])
        return [try Mutation.update(path("c", "d\(number % 64)"), [(field, .set(.integer(age)))])]
      }
      var next = writes.makeIterator()
      return try allocations(64) { _ in try next.next().map { _ = try machine.store.commit($0) } }
    }
    // With one index, a commit reads the previous document, as it does with five indexes.
    try machine.store.createIndex(IndexDefinition("c", .collection, [.init("name")]))
    let with1 = try count()
    for field in ["email", "score", "town", "bio"] {
      try machine.store.createIndex(
        IndexDefinition("c", .collection, [.init(StoredFieldPath(unchecked: [field]))]))
    }
    let perIndex = (try count() - with1) / 4
    #expect(perIndex <= Self.allocationsOfIndexMax, "\(perIndex) allocations for each index")
  }

  /// Returns the allocations per call, after buffers have grown to their final size.
  private func allocations(_ calls: Int, _ body: (Int) throws -> Void) throws -> Double {
    for index in 0..<calls { try body(index) }
    let before = allocations_of_this_thread()
    for index in 0..<calls { try body(index) }
    return Double(allocations_of_this_thread() - before) / Double(calls)
  }

  @Test func batchesWriteLittleMoreThanTheirDocuments() throws {
    let (watched, store) = try watchedStore()
    var ratios: [Double] = []
    for batch in 0..<9 {
      let before = watched.counters.bytesWritten["log", default: 0]
      let bytes = try commit(batch, to: store)
      ratios.append(Double(watched.counters.bytesWritten["log", default: 0] - before) / Double(bytes))
    }
    // Take the median, because some batches start a log file, which is zero-filled first.
    let ratio = ratios.sorted()[ratios.count / 2]
    #expect(ratio <= Self.logBytesPerByteMax, "\(ratio) bytes of log for each byte of the documents' values")
  }

  @Test func flushWritesFewerBytesThanItsDocumentsHave() throws {
    let (watched, store) = try watchedStore()
    var bytes = 0
    for batch in 0..<20 { bytes += try commit(batch, to: store) }
    try store.compact()
    let written = watched.counters.bytesWritten
    let segments = Double(written["segment", default: 0]) / Double(bytes)
    let checkpoints = Double(written["checkpoint", default: 0]) / Double(bytes)
    #expect(segments <= Self.segmentBytesPerByteMax, "\(segments) bytes of segments for each byte")
    #expect(
      checkpoints <= Self.checkpointBytesPerByteMax, "\(checkpoints) bytes of checkpoints for each byte")
  }

  // Limits for an unoptimized build.
  private static let allocationsOfFieldMax = 0.1
  private static let allocationsOfIndexMax = 18.3
  private static let allocationsOfCommitMax = 78.2
  private static let allocationsOfDocumentMax = 40.8
  private static let logBytesPerByteMax = 1.3
  private static let segmentBytesPerByteMax = 0.55
  private static let checkpointBytesPerByteMax = 0.36

  /// Commits a batch of 500 documents. Returns the size of the documents' values.
  private func commit(_ batch: Int, to store: DocumentStore) throws -> Int {
    let numbers = batch * 500..<(batch + 1) * 500
    try store.commit(numbers.map { .set(path("c", "\($0)"), CostDocument.fields($0)) })
    return numbers.reduce(0) { $0 + CostDocument.byteCount($1) }
  }

  private func watchedStore() throws -> (WatchedFileSystem, DocumentStore) {
    let watched = WatchedFileSystem(SimulatedDisk())
    var options = DocumentStore.Options()
    options.maintenance = .manual
    let platform = Platform(
      fileSystem: watched, clock: SimulatedClock(), random: SimulatedRandomSource(seed: 1))
    return (watched, try DocumentStore.open("/store", options: options, platform: platform))
  }
}

/// Documents of one shape.
enum CostDocument {
  static func fields(_ number: Int) -> StoredMap {
    StoredMap([
      ("name", .string("Person \(number)")), ("email", .string("person\(number)@example.org")),
      ("score", .double(Double(number) / 7)), ("age", .integer(Int64(number % 90))),
      ("town", .string("Town \(number % 20)")),
      (
        "bio",
        .string("Number \(number) writes about the sea, the harbour, the weather and \(number * 7919).")
      ),
    ])
  }

  /// The size of the values alone, as a user would state it.
  static func byteCount(_ number: Int) -> Int {
    fields(number).entries.reduce(0) { sum, entry in
      if case .string(let text) = entry.value { sum + text.utf8.count } else { sum + 8 }
    }
  }
}
