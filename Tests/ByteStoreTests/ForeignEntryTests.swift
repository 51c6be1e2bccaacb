// What lies in a store's directory and is no file of it.

import Foundation
import Testing

@testable import ByteStore

@Suite struct ForeignEntryTests {
  /// The story: a pipe under the name of a log kept the open waiting for its other end.
  @Test(arguments: ["log-0000000001", "log-0000000002", "MANIFEST"])
  func aPipeInAFilesPlaceIsRefusedAndNotWaitedFor(name: String) throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-bytestore-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try ByteStore.open(folder)
    var batch = Batch()
    try batch.put([1], for: [2])
    try store.commit(batch)
    try store.close()

    try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    try #require(mkfifo("\(folder)/\(name)", 0o600) == 0)
    #expect(throws: ByteStoreError.self) { try ByteStore.open(folder) }
  }
}
