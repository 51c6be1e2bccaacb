// The file in which `dugout salvage` names what it lost.

import DocumentStore
import Foundation
import Harness
import Testing

@testable import dugout

@Suite struct LossReportTests {
  private let dugout = Program("dugout")

  /// Creates a store with 200 documents in a segment, of which one page is damaged.
  private func makeDamagedStore(_ path: String) throws {
    var random = SeededRandom(seed: 3)
    let store = try DocumentStore.open(path)
    for number in 0..<200 {
      let fields = StoredMap([("n", .integer(Int64(number))), ("b", .bytes(random.bytes(150)))])
      let name = String(1000 + number)
      try store.commit([.set(try DocumentPath([number % 4 == 0 ? "posts" : "users", name]), fields)])
    }
    try store.compact()
    try store.close()
    try damageSegment(of: path)
  }

  private func damageSegment(of path: String) throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    let file = URL(fileURLWithPath: "\(path)/\(try #require(names.first { $0.hasPrefix("segment-") }))")
    var bytes = try Data(contentsOf: file)
    bytes[bytes.count / 2] ^= 0x10
    try bytes.write(to: file)
  }

  private func lines(_ file: String) throws -> [JSON] {
    try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map {
      try JSONReader.read(Data($0.utf8))
    }
  }

  private func documents(of path: String) throws -> Set<String> {
    let store = try DocumentStore.open(path)
    defer { try? store.close() }
    return Set(try store.userPaths().map(\.description))
  }

  @Test func theReportNamesEveryLostDocument() throws {
    let folder = try TemporaryFolder()
    let (store, report) = (folder.path + "/store", folder.path + "/store.lost.jsonl")
    try makeDamagedStore(store)
    let outcome = try dugout.run("salvage", store)
    #expect(outcome.status == 1, "\(outcome)")
    let lines = try lines(report)
    let named = Set(lines.compactMap { $0["path"]?.text })
    let all = Set((0..<200).map { "\($0 % 4 == 0 ? "posts" : "users")/\(1000 + $0)" })
    let kept = try documents(of: store)
    #expect(!named.isEmpty && named == all.subtracting(kept))
    let summary = try #require(lines.last?["summary"])
    #expect(summary["documents"]?.description == "\(named.count)")
    let posts = named.count { $0.hasPrefix("posts/") }
    #expect(summary["collections"]?.description == "{\"posts\":\(posts),\"users\":\(named.count - posts)}")
    #expect(
      outcome.output.contains("\nlost documents: \(posts) of posts, \(named.count - posts) of users\n  "))
    #expect(outcome.output.contains("\nwhat is lost is in \(report)\n"), "\(outcome.output)")
    #expect(outcome.complaint.hasSuffix(" \(report) has the details.\n"), "\(outcome.complaint)")
    #expect(outcome.complaint.contains("\(named.count) values are lost"), "\(outcome.complaint)")
    // The report is next to the store, so that a backup of the store is possible.
    #expect(try dugout.run("backup", store, folder.path + "/backup").status == 0)
    // A later salvage does not replace the report.
    try damageSegment(of: store)
    let again = try dugout.run("salvage", store, "--json")
    #expect(again.output.contains("\"report\":\"\(folder.path)/store.lost-2.jsonl\""), "\(again)")
    #expect(try self.lines(report).count == lines.count)
  }

  @Test func aNamedReportIsWrittenAndAnExistingFileIsKept() throws {
    let folder = try TemporaryFolder()
    let (store, report) = (folder.path + "/store", folder.path + "/losses")
    try makeDamagedStore(store)
    let before = try FileManager.default.contentsOfDirectory(atPath: store).sorted()
    try Data("mine".utf8).write(to: URL(fileURLWithPath: report))
    var wrong: [String] = []
    for (file, code) in [(report, Int32(2)), (store + "/losses", 2), (folder.path + "/none/losses", 74)] {
      let outcome = try dugout.run("salvage", store, "--report", file)
      if outcome.status != code { wrong.append("\(file): \(outcome)") }
    }
    #expect(wrong == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: store).sorted() == before)
    #expect(FileManager.default.contents(atPath: report) == Data("mine".utf8))
    try FileManager.default.removeItem(atPath: report)
    #expect(try dugout.run("salvage", store, "--report", report).status == 1)
    #expect(try lines(report).last?["summary"] != nil)
    #expect(!FileManager.default.fileExists(atPath: store + ".lost.jsonl"))
  }

  @Test func commitsAndPartsOfLogsAreReportedAsUnknown() throws {
    let folder = try TemporaryFolder()
    let (original, store) = (folder.path + "/original", folder.path + "/store")
    let open = try DocumentStore.open(original)
    try open.commit([.set(try DocumentPath(["users", "bob"]), StoredMap())])
    // This copy equals a store after a crash: the copy's log is not closed.
    try FileManager.default.copyItem(atPath: original, toPath: store)
    try open.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: store).sorted()
    let log = try #require(names.last { $0.hasPrefix("log-") })
    try FileManager.default.removeItem(atPath: "\(store)/\(log)")
    let outcome = try dugout.run("salvage", store)
    #expect(outcome.status == 1, "\(outcome)")
    let lines = try lines(store + ".lost.jsonl")
    #expect(lines.first?["lost"]?.text == "log", "\(lines)")
    #expect(lines.first?["reason"]?.text == "the log that was in use is not there", "\(lines)")
    #expect(lines.last?["summary"]?["gapsInLogs"]?.description == "1", "\(lines)")
  }

  @Test func aSalvageWithoutLossesWritesNoReport() throws {
    let folder = try TemporaryFolder()
    let store = folder.path + "/store"
    try makeDamagedStore(store)
    _ = try dugout.run("salvage", store, "--report", folder.path + "/first")
    #expect(try dugout.run("salvage", store).status == 0)
    try FileManager.default.removeItem(atPath: store + "/MANIFEST")
    let outcome = try dugout.run("salvage", store)
    #expect(outcome.status == 0 && outcome.output.contains("The store opens again."), "\(outcome)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["first", "store"])
  }

  @Test func theReportIsNextToTheStore() {
    #expect(LossReport.names(for: "data").prefix(2) == ["data.lost.jsonl", "data.lost-2.jsonl"])
    #expect(LossReport.names(for: "data/").first == "data.lost.jsonl")
    #expect(LossReport.names(for: "/srv/shop/").first == "/srv/shop.lost.jsonl")
    let here = URL(fileURLWithPath: FileManager.default.currentDirectoryPath).standardizedFileURL.path
    #expect(LossReport.names(for: ".").first == here + ".lost.jsonl")
  }
}
