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
    let views = try [ReadSource.default, .server, .cache].map { try view.document(at: path, source: $0) }
    let ages = views.map { $0.document?.fields["age"] }
    #expect(ages == [StoredValue?](repeating: .integer(36), count: 3))
    #expect(views.map { $0.hasPendingWrites } == [false, false, false])
    #expect(views.map { $0.isFromCache } == [false, false, true])
    try view.close()
  }
}
