// Runs the commands of the guides in the order of each page.

import Foundation
import Testing

@Suite struct GuideCommandTests {
  /// A page, the preparation for its first command, and the expected exit codes other than 0.
  struct Page: CustomTestStringConvertible, Sendable {
    var name: String
    var prepare: @Sendable (_ folder: URL, _ dugout: Program) throws -> Void = { _, _ in }
    var codes: [String: Int32] = [:]

    var testDescription: String { name }
  }

  static let pages: [Page] = [
    Page(name: "five-minutes"),
    Page(
      name: "command-line",
      prepare: { folder, _ in
        try Data("ls\n".utf8).write(to: folder.appendingPathComponent("script.txt"))
        try Data("email,name,age\nada@example.org,Ada,36\n".utf8)
          .write(to: folder.appendingPathComponent("people.csv"))
      }),
    Page(
      name: "operating",
      prepare: { folder, dugout in
        try dugout.succeed("set", folder.path + "/store", "users/ada", "{}")
      }),
    Page(name: "backup", prepare: { try $1.succeed("set", $0.path + "/store", "users/ada", "{}") }),
    Page(
      name: "when-a-store-is-damaged",
      prepare: { folder, dugout in
        let store = folder.path + "/store"
        try dugout.succeed("set", store, "users/ada", "{}")
        try dugout.succeed("compact", store)
        try dugout.succeed("set", store, "users/bob", "{}")
        let names = try FileManager.default.contentsOfDirectory(atPath: store)
        let name = try #require(names.first { $0.hasPrefix("checkpoint-") })
        var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(store)/\(name)"))
        bytes[bytes.count / 2] ^= 0x10
        try bytes.write(to: URL(fileURLWithPath: "\(store)/\(name)"))
      }, codes: ["3. See what is damaged": 1, "5. Salvage": 1]),
    Page(name: "durability"),
    Page(
      name: "coming-from-firestore",
      prepare: { folder, _ in
        let saved = folder.appendingPathComponent("saved")
        try FileManager.default.createDirectory(at: saved, withIntermediateDirectories: true)
        let export = root.appendingPathComponent("Tests/Fixtures/FirestoreExport/firestore_export")
        try FileManager.default.copyItem(at: export, to: saved.appendingPathComponent("firestore_export"))
      }),
  ]

  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// The paths in the pages, each with its replacement in this test.
  private static let places = [
    ("/path/to/", "$PWD/"), ("/srv/shop", "$PWD/store"), ("/backups/", "$PWD/backups/"),
    ("dugout bench /mnt/the-disk-that-matters", "dugout bench $PWD --documents 500"),
    ("| man -l -", "> manual-page"),
  ]

  /// Prefixes of commands that are not run, because they need a build, leave the page's folder, or need an
  /// optional program.
  private static let others = ["swift run ", "swift build ", "sudo install ", "alias ", "firebase ", "jq "]

  private static let sqlite = ["/usr/bin/sqlite3", "/bin/sqlite3", "/usr/local/bin/sqlite3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  @Test(arguments: pages) func documentedCommandsOfEveryPageWork(page: Page) throws {
    let folder = try TemporaryFolder()
    let dugout = Program("dugout")
    try page.prepare(folder.url, dugout)
    try carryOut(page, in: folder.path, dugout)
    if page.name == "when-a-store-is-damaged" {
      #expect(try dugout.run("get", folder.path + "/store", "users/bob").status == 0)
    }
    if page.name == "coming-from-firestore" {
      #expect(try dugout.run("ls", folder.path + "/data").output.contains("users  2 documents\n"))
    }
  }

  @Test(.enabled(if: sqlite != nil, "needs sqlite3 to bring a table over: apt-get install sqlite3"))
  func sqlitePageCommandsImportATable() throws {
    let folder = try TemporaryFolder()
    let dugout = Program("dugout")
    let table = """
      create table players (id integer primary key, name text, score integer);
      insert into players values (1, 'Ada "the first"', 36), (2, null, null);
      """
    let created = try Program(path: #require(Self.sqlite)).run(folder.path + "/old.db", table)
    try #require(created.status == 0, "\(created.complaint)")
    try carryOut(Page(name: "coming-from-sqlite"), in: folder.path, dugout)
    #expect(
      try dugout.run("query", folder.path + "/data", "players").output == """
        id  name             score
        1   Ada "the first"  36
        2
        2 documents

        """)
  }

  private func carryOut(_ page: Page, in folder: String, _ dugout: Program) throws {
    let fences = try Self.fences(of: page.name)
    var commands = 0
    var wrong: [String] = []
    defer { #expect(wrong == []) }
    for fence in fences {
      if fence.language == "sh" {
        let lines = fence.lines.filter { line in !Self.others.contains { line.hasPrefix($0) } }
        guard lines.contains(where: { $0.contains("dugout ") || $0.hasPrefix("cp ") || $0.hasPrefix("mv ") })
        else { continue }
        var script = lines.joined(separator: "\n")
        for (place, here) in Self.places { script = script.replacing(place, with: here) }
        let outcome = try run(script, in: folder, dugout)
        let expected = page.codes[fence.heading] ?? 0
        if outcome.status != expected {
          wrong.append("\(script)\n\(outcome.status)\n\(outcome.output)\(outcome.complaint)")
        }
        commands += lines.count
      } else if fence.language == "console" {
        wrong += try differences(in: fence.lines, in: folder, dugout)
        commands += fence.lines.count
      } else if fence.lines.contains(where: { $0.hasPrefix("dugout> ") }) {
        try talk(fence.lines, in: folder + "/data", dugout)
        commands += fence.lines.count
      }
    }
    #expect(commands > 1)
  }

  /// Runs the lines that begin with a dollar sign, and returns those whose output is not that of the page.
  private func differences(in lines: [String], in folder: String, _ dugout: Program) throws -> [String] {
    var wrong: [String] = []
    var rest = lines[...]
    while let line = rest.popFirst() {
      let expected = rest.prefix { !$0.hasPrefix("$ ") }
      rest = rest.dropFirst(expected.count)
      let outcome = try run(String(line.dropFirst(2)), in: folder, dugout)
      // Blank lines of a page are not in its fences.
      let shown = outcome.output.split(separator: "\n").map(String.init)
      if shown != Array(expected) { wrong.append("\(line)\n\(outcome.output)\(outcome.complaint)") }
    }
    return wrong
  }

  /// Types lines into the shell and expects its output in order.
  private func talk(_ lines: [String], in directory: String, _ dugout: Program) throws {
    let typed = lines.filter { $0.hasPrefix("dugout> ") }.map { $0.dropFirst(8) + "\n" }.joined()
    let outcome = try dugout.run(["shell", directory], input: typed)
    try #require(outcome.status == 0, "\(outcome.complaint)")
    var rest = outcome.output[...]
    for line in lines where !line.hasPrefix("dugout> ") {
      let range = try #require(rest.firstRange(of: line + "\n"), "\(line) is not in \(outcome.output)")
      rest = rest[range.upperBound...]
    }
  }

  private func run(_ script: String, in folder: String, _ dugout: Program) throws -> Program.Outcome {
    let path = URL(fileURLWithPath: dugout.path).deletingLastPathComponent().path
    let outer = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return try Program(path: "/bin/bash").run(
      ["--norc", "-e", "-c", "cd '\(folder)'\n\(script)"], input: "",
      environment: ["PATH": "\(path):\(outer)"])
  }

  // MARK: Pages

  private struct Fence {
    var language: String
    var heading: String
    var lines: [String] = []
  }

  private static func fences(of page: String) throws -> [Fence] {
    let file = root.appendingPathComponent("docs/guides/\(page).md")
    var fences: [Fence] = []
    var heading = ""
    var open: Fence?
    for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
      let trimmed = line.trimmingCharacters(in: .whitespaces)
      if let fence = open {
        if trimmed == "```" {
          fences.append(fence)
          open = nil
        } else {
          open?.lines.append(["text", "console"].contains(fence.language) ? String(line) : trimmed)
        }
      } else if trimmed.hasPrefix("```") {
        open = Fence(language: String(trimmed.dropFirst(3)), heading: heading)
      } else if line.hasPrefix("## ") {
        heading = String(line.dropFirst(3))
      }
    }
    return fences
  }
}

extension Program {
  fileprivate func succeed(_ arguments: String...) throws {
    let outcome = try run(arguments)
    try #require(outcome.status == 0, "\(arguments): \(outcome.complaint)")
  }
}
