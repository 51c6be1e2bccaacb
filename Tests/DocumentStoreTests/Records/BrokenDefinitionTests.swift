// An invalid shape definition with valid checksums, and a correct definition elsewhere.
//
// The correct definition is in a checkpoint or in another log file.

import ByteStore
import Harness
import StoreTools
import Testing

@testable import DocumentStore

@Suite struct BrokenDefinitionTests {
  private func open(_ directory: TemporaryDirectory) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return try DocumentStore.open(directory.path, options: options, platform: .real)
  }

  private func fill(_ store: DocumentStore, _ numbers: Range<Int>) throws {
    for number in numbers {
      let fields = StoredMap([("n", .integer(Int64(number))), ("m", .null)])
      try store.commit([.set(path("c", "d\(number)"), fields)])
    }
  }

  /// Guards against a salvage that keeps the key of the invalid definition and therefore loses all records of
  /// the shape.
  @Test(arguments: [true, false])
  func salvageReplacesAnInvalidShapeDefinitionByAValidCopy(isFlushed: Bool) throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    try fill(store, 0..<10)
    // The correct definition is either in the checkpoint's catalog or in the context of a second log file.
    if isFlushed { try store.compact() }
    try store.close()
    store = try open(directory)
    try fill(store, 10..<12)
    let id = try #require(store.indexes.shapes.table.shapes.firstIndex { $0 != nil })
    try store.close()
    var options = ByteStore.Options()
    options.maintenance = .manual
    let bytes = try ByteStore.open(directory.path, options: options)
    var batch = Batch(stamp: bytes.lastStamp + 1)
    try batch.put([0], for: Shape.key(id))
    try bytes.commit(batch)
    try bytes.close()

    let names = ["the shape \(id)"]
    // Opening the store reads the checkpoint's catalog but not the context of a log file. The first document
    // was written before its shape was created.
    let lost = names + (isFlushed ? [] : (1..<12).map { "c/d\($0)" }.sorted())
    #expect(try DocumentStore.check(directory.path).undecodable.names.sorted() == lost.sorted())
    store = try open(directory)
    #expect(try store.check().undecodable.names.sorted() == lost.sorted())
    let target = TemporaryDirectory()
    let backup = try store.backup(to: target.path) { _ in }
    #expect(backup.undecodable.names.sorted() == lost.sorted())
    try store.close()
    let salvage = try DocumentStore.salvage(directory.path)
    #expect(salvage.bytes.outcome == .salvaged)
    #expect(salvage.bytes.undecodable.names == names)
    #expect(try DocumentStore.check(directory.path).isSound)
    store = try open(directory)
    #expect(try store.documents(.ofC).count == 12)
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }
}
