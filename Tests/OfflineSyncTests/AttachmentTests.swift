// Attaching a remote to a store that has data.

import Authority
import DocumentStore
import OfflineSync
import Testing

@Suite struct AttachmentTests {
  /// Batches are limited by size. A batch of a hundred of these documents would exceed the maximum size of a
  /// queue record.
  @Test func largeDocumentsThatPredateTheRemoteAreUploaded() async throws {
    let paths = (0..<60).map { DocumentPath(unchecked: ["rooms", "\($0)"]) }
    let fields = StoredMap([("b", .bytes([UInt8](repeating: 7, count: 200_000)))])
    let store = try DocumentStore.openInMemory()
    for half in [paths.prefix(30), paths.suffix(30)] {
      try store.commit(half.map { .set($0, fields) })
    }
    let authority = try DocumentStore.openInMemory()
    let driver = try store.attach(try LoopbackRemote(authority: authority), .upload)
    await withCheckedContinuation { done in driver.waitForPendingWrites { _ in done.resume() } }
    let wrong = try paths.filter { try authority.document(at: $0)?.fields != fields }
    #expect(wrong == [])
    #expect(try store.document(at: DocumentPath(unchecked: ["__sync__", "upload"])) == nil)
    driver.stop()
  }
}
