// Writes to a document whose record has an unreadable head, so that the times of the document are lost.

import ByteStore
import Harness
import StoreTools
import Testing

@testable import DocumentStore

@Suite struct UnreadableHeadTests {
  private let bad = path("c", "bad")

  private func open(_ directory: TemporaryDirectory) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return try DocumentStore.open(directory.path, options: options, platform: .real)
  }

  private func poisoned(_ directory: TemporaryDirectory) throws -> DocumentStore {
    try open(directory).close()
    var options = ByteStore.Options()
    options.maintenance = .manual
    let bytes = try ByteStore.open(directory.path, options: options)
    var batch = Batch(stamp: bytes.lastStamp + 1)
    try batch.put([9, 9, 9], for: DocumentKey.encode(bad))
    try bytes.commit(batch)
    try bytes.close()
    return try open(directory)
  }

  /// Guards against a creation time of 1970 for a document that replaces an unreadable one.
  @Test(arguments: [Precondition.none, .exists(true)])
  func replacementOfAnUnreadableDocumentGetsItsCommitTime(precondition: Precondition) throws {
    let directory = TemporaryDirectory()
    let store = try poisoned(directory)
    let time = try store.commit([.set(bad, StoredMap([("n", 1)]), precondition: precondition)])
    let document = try #require(try store.document(at: bad))
    #expect(document.createTime == time && document.updateTime == time)
    try store.close()
    #expect(try DocumentStore.check(directory.path).isSound)
  }

  @Test func documentOfAnUnknownVersionExistsForPreconditions() throws {
    let directory = TemporaryDirectory()
    let store = try poisoned(directory)
    let fields = StoredMap([("n", 1)])
    guard
      case .alreadyExists = failure(of: {
        try store.commit([.set(bad, fields, precondition: .exists(false))])
      })
    else {
      Issue.record("The document exists.")
      return
    }
    for time in [StoredTimestamp.epoch, try #require(StoredTimestamp(microseconds: 1))] {
      for mutation in [
        Mutation.set(bad, fields, precondition: .updateTime(time)),
        .delete(bad, precondition: .updateTime(time)),
      ] {
        guard case .failedPrecondition = failure(of: { try store.commit([mutation]) }) else {
          Issue.record("No caller can know the version.")
          continue
        }
      }
    }
    #expect(try store.holdsDocument(at: bad))
    try store.commit([.delete(bad, precondition: .exists(true))])
    #expect(try !store.holdsDocument(at: bad))
    try store.close()
  }
}
