// Messages about a document whose bytes are intact but cannot be decoded.

import DocumentStore
import Foundation
import Testing

@testable import ByteStore

@Suite struct UndecodableTests {
  private let dugout = Program("dugout")

  /// Creates two documents of `users`, and between them a document whose record refers to a lost shape. No
  /// release writes such a record.
  private func makeStore(_ folder: borrowing TemporaryFolder) throws {
    let store = try DocumentStore.open(folder.path)
    for name in ["ada", "carl"] {
      try store.commit([.set(DocumentPath(["users", name]), StoredMap([("age", .integer(36))]))])
    }
    try store.close()
    var options = ByteStore.Options()
    options.maintenance = .manual
    let bytes = try ByteStore.open(folder.path, options: options)
    var batch = Batch(stamp: bytes.lastStamp + 1)
    let key: [UInt8] =
      [2, 2] + Array("users".utf8) + [0, 1, 2] + Array("bad".utf8) + [0, 1, 0]
    try batch.put([1] + [UInt8](repeating: 0, count: 8) + [0xA4, 0x9C, 0x01, 3], for: key)
    try bytes.commit(batch)
    try bytes.close()
  }

  private let said = "1 record cannot be decoded: users/bad."

  @Test func aDiffComparesAllOtherDocuments() throws {
    let folder = try TemporaryFolder()
    let files = try TemporaryFolder()
    try makeStore(folder)
    let other = files.path + "/other"
    let store = try DocumentStore.open(other)
    for (name, age) in [("ada", 36), ("bad", 1), ("carl", 37)] {
      let fields = StoredMap([("age", .integer(Int64(age)))])
      try store.commit([.set(DocumentPath(["users", name]), fields)])
    }
    try store.close()
    for arguments in [["diff", folder.path, other], ["diff", other, folder.path]] {
      let outcome = try dugout.run(arguments)
      #expect(outcome.status == 65, "\(outcome)")
      #expect(outcome.output.hasPrefix("~ users/carl\n    age: "), "\(outcome.output)")
      #expect(outcome.output.hasSuffix("\n1 document differs: 1 changed; 1 is equal.\n"), "\(outcome.output)")
      #expect(
        outcome.complaint.hasPrefix("dugout diff: in \(folder.path), \(said) All others were compared. "),
        "\(outcome.complaint)")
    }
    let json = try dugout.run("diff", folder.path, other, "--json")
    #expect(json.status == 65 && json.output.contains("\"undecodable\":[\"users/bad\"]"), "\(json)")
  }

  @Test func allCommandsReportAnUndecodableDocumentTheSameWay() throws {
    let folder = try TemporaryFolder()
    try makeStore(folder)
    let (path, target) = (folder.path, folder.path + "-copy")
    defer { try? FileManager.default.removeItem(atPath: target) }

    let get = try dugout.run("get", path, "users/bad")
    #expect(get.status == 65 && get.complaint.contains("users/bad"), "\(get.complaint)")
    let list = try dugout.run("ls", path, "users")
    #expect(list.status == 65 && list.complaint.contains(said), "\(list.complaint)")
    #expect(list.output.contains("ada") && list.output.contains("carl"))
    #expect(try dugout.run("ls", path).status == 0)
    let export = try dugout.run("export", path, folder.path + "-copy.jsonl")
    defer { try? FileManager.default.removeItem(atPath: folder.path + "-copy.jsonl") }
    #expect(export.status == 65 && export.complaint.contains(said), "\(export.complaint)")
    let lines = try String(contentsOfFile: folder.path + "-copy.jsonl", encoding: .utf8).split(
      separator: "\n")
    #expect(lines.count == 2)
    let csv = try dugout.run("export", path, "-", "--csv")
    #expect(csv.status == 65 && csv.output.split(separator: "\n").count == 3, "\(csv.output)")
    let query = try dugout.run("query", path, "users")
    #expect(query.status == 65 && query.complaint.contains("users/bad"))
    let backup = try dugout.run("backup", path, target)
    #expect(backup.status == 1 && backup.complaint.contains(said), "\(backup.complaint)")
    #expect(!backup.output.contains("all of it verified"))
    #expect(backup.output.contains("1 of the records cannot be decoded"), "\(backup.output)")
    let check = try dugout.run("check", path)
    #expect(check.status == 1 && check.output.contains(said), "\(check.output)")
    #expect(check.complaint.contains("dugout salvage"))
  }

  @Test(arguments: [true, false])
  func aSalvageQuarantinesAnUndecodableDocumentAndADeleteRemovesIt(isSalvaged: Bool) throws {
    let folder = try TemporaryFolder()
    try makeStore(folder)
    if isSalvaged {
      let salvage = try dugout.run("salvage", folder.path)
      #expect(salvage.status == 1 && salvage.output.contains(said), "\(salvage.output)\(salvage.complaint)")
      #expect(
        salvage.complaint.contains("1 record that cannot be decoded is only in the files that were set aside")
      )
      let again = try dugout.run("salvage", folder.path)
      #expect(again.status == 0 && again.output.contains("nothing was done"), "\(again.output)")
    } else {
      let query = try dugout.run("delete", folder.path, "users where age == 5", "--query", "--yes")
      #expect(query.status == 65 && query.output.contains("0 documents deleted"), "\(query.complaint)")
      let delete = try dugout.run("delete", folder.path, "users/bad")
      #expect(delete.status == 0, "\(delete.complaint)")
    }
    let check = try dugout.run("check", folder.path)
    #expect(
      check.status == 0 && check.output.hasSuffix("No damage.\n"), "\(check.output)\(check.complaint)")
    let list = try dugout.run("ls", folder.path, "users")
    #expect(list.status == 0 && list.output.contains("ada") && list.output.contains("carl"))
  }
}
