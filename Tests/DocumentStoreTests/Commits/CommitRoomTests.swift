// Commits reuse buffers for records and pages: no data of one commit leaks into another.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

@Suite struct CommitRoomTests {
  private func document(_ bytes: Int, _ byte: UInt8) -> StoredMap {
    StoredMap([("bytes", .bytes([UInt8](repeating: byte, count: bytes)))])
  }

  private func expectEach(_ documents: [DocumentPath: StoredMap], _ store: DocumentStore) throws {
    let wrong = try documents.filter { path, fields in try store.document(at: path)?.fields != fields }
    #expect(wrong.map(\.key) == [])
    #expect(try store.invariantBroken() == nil)
  }

  @Test func commitAfterALargerCommitHasItsOwnRecords() throws {
    let machine = try SimulatedStore()
    var documents: [DocumentPath: StoredMap] = [:]
    for (number, bytes) in [10, 300_000, 20, 3000, 1, 900_000, 900_000, 5].enumerated() {
      let commit = (0..<3).map { place in
        (path("c", "\(number)-\(place)"), document(bytes + place, UInt8(number * 3 + place)))
      }
      try machine.store.commit(commit.map { .set($0.0, $0.1) })
      documents.merge(commit) { $1 }
    }
    try expectEach(documents, machine.store)
    try expectEach(documents, try machine.afterPowerLoss().store)
  }

  /// The request is small, but the resulting documents are large.
  @Test func oversizedCommitLeavesNothingInTheNextCommit() throws {
    let machine = try SimulatedStore()
    let paths = (0..<18).map { path("c", "\($0)") }
    var documents: [DocumentPath: StoredMap] = [:]
    for (number, path) in paths.enumerated() {
      documents[path] = document(1_000_000, UInt8(number))
      try machine.store.commit([.set(path, document(1_000_000, UInt8(number)))])
    }
    let complaint = try #require(failure { try machine.store.commit(paths.map { increment($0) }) }?.complaint)
    #expect(complaint.contains("the limit is 16777216"), "\(complaint)")
    try machine.store.commit([.set(path("d", "x"), document(7, 7))])
    documents[path("d", "x")] = document(7, 7)
    try expectEach(documents, machine.store)
    try expectEach(documents, try machine.afterPowerLoss().store)
  }
}
