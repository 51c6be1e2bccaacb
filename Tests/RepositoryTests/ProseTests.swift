// The words of comments, identifiers and commits follow the rules, and each kind of violation is detected.

import Foundation
import Testing

@Suite struct ProseTests {
  @Test func commentsFollowTheProseRules() throws {
    let list = try String(contentsOf: Self.words.appendingPathComponent("exempt.txt"), encoding: .utf8)
    expectNone(ProseCheck.comments(in: try .repository(), exempt: list))
  }

  @Test func identifiersContainNoListedStem() throws {
    let list = try String(contentsOf: Self.words.appendingPathComponent("stems.txt"), encoding: .utf8)
    expectNone(ProseCheck.identifiers(in: try .repository(), stems: list))
  }

  @Test func theGlossaryStaysSmall() throws {
    expectNone(ProseCheck.glossary(in: try .repository()))
  }

  @Test(arguments: [
    ("/// Of a file.\nlet a = 1", "A.swift:1: The doc comment opens with 'Of'."),
    ("/// The same for b.\nlet a = 1", "A.swift:1: The doc comment opens with 'The same'."),
    ("  /// What is there.", "A.swift:1: The doc comment opens with 'What'."),
    ("let a = 1  \n// It is told to nobody.", "A.swift:2: The comment calls an actor 'nobody'."),
    ("/// Reads.\n/// Whoever waits.", "A.swift:2: The comment calls an actor 'whoever'."),
    ("// " + String(repeating: "x", count: 108), "A.swift:1: The comment has 111 columns."),
  ])
  func commentRuleViolationsAreReported(text: String, sentence: String) {
    #expect(ProseCheck.comments(in: RepositoryTree(["A.swift": text])).map(\.description) == [sentence])
  }

  @Test(arguments: [
    "/// Offers a file.\n/// Of these, one.", "/// Whatever.", "let a = \"nobody\" + \"// nobody\"",
    "// `nobody` is a user.", "/// ```\n/// nobody()\n/// ```", "let a = \"\"\"\n  // nobody\n  \"\"\"",
    "// The user \"nobody\".", "/// - Reads.\n///\n/// What a file holds.",
  ])
  func aValidCommentPasses(text: String) {
    #expect(ProseCheck.comments(in: RepositoryTree(["A.swift": text])) == [])
  }

  @Test func anExemptFileIsNotChecked() {
    let tree = RepositoryTree(["Old/A.swift": "// nobody", "New/A.swift": "// nobody"])
    #expect(
      ProseCheck.comments(in: tree, exempt: "# a list\nOld/ — replaced soon\n").map(\.path) == ["New/A.swift"]
    )
  }

  @Test func stemsMatchOnlyWholeWordsOfIdentifiers() {
    let text = "let letGo = dice; func letGone(laptopDice: Int) { isLetGoOf() } // letGo\nlet a = \"dice\""
    let found = ProseCheck.identifiers(
      in: RepositoryTree(["A.swift": text]), stems: "# a list\nletGo\ndice: laptopDice — a product's name\n")
    #expect(
      found.map(\.sentence) == [
        "The identifier letGo has the stem 'let go'.", "The identifier dice has the stem 'dice'.",
        "The identifier isLetGoOf has the stem 'let go'.",
      ])
  }

  @Test func anOversizedGlossaryIsReported() {
    let rows = (0..<36).map { "| **\($0)** | a |\n" }.joined()
    let found = ProseCheck.glossary(
      in: RepositoryTree(["docs/architecture.md": "## Glossary\n\n\(rows)## End\n"]))
    #expect(found.map(\.line) == [1])
  }

  // MARK: Commits

  /// The subjects of this commit and of earlier commits are not checked.
  private static let firstCommit = "33fd329"

  @Test func commitSubjectsFollowTheRules() throws {
    guard let subjects = try Self.subjects() else {
      print("The history does not reach back to \(Self.firstCommit): commit subjects are not checked.")
      return
    }
    let exceptions = try String(
      contentsOf: Self.words.appendingPathComponent("commit-exceptions.txt"), encoding: .utf8)
    let allowed = Set(exceptions.split(separator: "\n").map(String.init))
    expectNone(
      subjects.filter { !allowed.contains($0) }.compactMap { subject in
        Self.fault(of: subject).map { Violation(path: "commit '\(subject)'", line: nil, sentence: $0) }
      })
  }

  @Test(arguments: [
    ("ByteStore: drop the torn tail on open", nil), ("Drop the torn tail", "It names no component."),
    ("Docs: a; b", "It has a semicolon."),
    ("Docs: " + String(repeating: "x", count: 67), "It has 73 characters."),
  ])
  func commitSubjectFaultsAreReported(subject: String, fault: String?) {
    #expect(Self.fault(of: subject) == fault)
  }

  private static func fault(of subject: String) -> String? {
    if subject.count > 72 { return "It has \(subject.count) characters." }
    if subject.contains(";") { return "It has a semicolon." }
    if !subject.contains(": ") { return "It names no component." }
    return nil
  }

  private static let words = RepositoryTree.root.appendingPathComponent("Tests/Fixtures/Words")

  /// Returns the subjects of all commits after `firstCommit`; nil if the history does not reach back to
  /// `firstCommit`.
  private static func subjects() throws -> [String]? {
    guard let git = ["/usr/bin/git", "/usr/local/bin/git"].first(where: FileManager.default.isExecutableFile)
    else { return nil }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: git)
    process.arguments = [
      "-c", "safe.directory=*", "-C", RepositoryTree.root.path, "log", "--no-merges", "--format=%s",
      "\(firstCommit)..HEAD",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? text.split(separator: "\n").map(String.init) : nil
  }
}
