// Queries with a limit whose result might include an undecodable document. No other document takes the place
// of the undecodable document.

import DocumentStore
import Foundation
import Testing

@testable import ByteStore

@Suite struct UndecodableLimitTests {
  private let dugout = Program("dugout")

  /// Creates three documents of `users` and a fourth document, `bad`, whose record cannot be decoded. In the
  /// order of names, `bad` is the second document.
  private func makeStore(_ folder: borrowing TemporaryFolder) throws {
    let store = try DocumentStore.open(folder.path)
    for (name, age) in [("ada", 36), ("carl", 20), ("dora", 50)] {
      try store.commit([.set(DocumentPath(["users", name]), StoredMap([("age", .integer(Int64(age)))]))])
    }
    try store.close()
    var options = ByteStore.Options()
    options.maintenance = .manual
    let bytes = try ByteStore.open(folder.path, options: options)
    var batch = Batch(stamp: bytes.lastStamp + 1)
    let key: [UInt8] = [2, 2] + Array("users".utf8) + [0, 1, 2] + Array("bad".utf8) + [0, 1, 0]
    try batch.put([9, 9, 9], for: key)
    try bytes.commit(batch)
    try bytes.close()
  }

  @Test(arguments: ["users limit 2", "users order by age limit last 3", "users order by age limit 1"])
  func aDeleteWithAnUndecodableCandidateInItsLimitDeletesNothing(query: String) throws {
    let folder = try TemporaryFolder()
    try makeStore(folder)
    let delete = try dugout.run("delete", folder.path, query, "--query", "--yes")
    #expect(delete.status == 65 && delete.output.contains("0 documents deleted"), "\(delete.output)")
    #expect(
      delete.complaint.contains("users/bad") && delete.complaint.contains("limit"), "\(delete.complaint)")
    let list = try dugout.run("ls", folder.path, "users")
    #expect(["ada", "carl", "dora"].filter { !list.output.contains($0) } == [], "\(list.output)")
  }

  @Test func aDeleteWhoseLimitPrecedesTheUndecodableDocumentDeletes() throws {
    let folder = try TemporaryFolder()
    try makeStore(folder)
    let delete = try dugout.run("delete", folder.path, "users limit 1", "--query", "--yes")
    #expect(delete.status == 0 && delete.output.contains("1 document deleted"), "\(delete.complaint)")
    let list = try dugout.run("ls", folder.path, "users")
    #expect(!list.output.contains("ada") && list.output.contains("carl") && list.output.contains("dora"))
  }

  @Test(arguments: ["users limit 2", "users order by age limit last 3", "users order by age limit 1"])
  func anExportWithAnUndecodableCandidateInItsLimitWritesNothing(query: String) throws {
    let folder = try TemporaryFolder()
    try makeStore(folder)
    let export = try dugout.run("export", folder.path, "-", query)
    #expect(export.status == 65 && export.output.isEmpty, "\(export.output)")
    #expect(
      export.complaint.contains("users/bad") && export.complaint.contains("limit"), "\(export.complaint)")
    let file = folder.path + "-limited.jsonl"
    defer { try? FileManager.default.removeItem(atPath: file) }
    #expect(try dugout.run("export", folder.path, file, query).status == 65)
    #expect(!FileManager.default.fileExists(atPath: file))
    let first = try dugout.run("export", folder.path, "-", "users limit 1")
    #expect(first.status == 0 && first.output.contains("ada"), "\(first.complaint)")
  }
}
