// The view without a remote: the store is server and cache in one.

import DocumentStore
import Foundation
import OfflineSync
import Testing

@Suite struct LocalViewTests {
  @Test func withoutARemoteNoWriteIsPendingAndOnlyCacheReadsAreFromCache() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }
    let view = LocalView(over: try DocumentStore.open(folder.path))
    let path = try DocumentPath(["users", "ada"])
    let absent = try view.document(at: path)
    #expect(absent.document == nil)
    try view.write([.set(path, StoredMap([("age", .integer(36))]))])
    for (source, isFromCache) in [(ReadSource.default, false), (.server, false), (.cache, true)] {
      let viewed = try view.document(at: path, source: source)
      #expect(viewed.document?.fields["age"] == .integer(36))
      #expect(!viewed.hasPendingWrites)
      #expect(viewed.isFromCache == isFromCache)
    }
    try view.close()
  }
}
