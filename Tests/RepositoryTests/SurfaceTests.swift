// Checks the public API of FirebaseFirestore. Code written for the original API must compile in both Swift
// language modes, 5 and 6.
//
// The page docs/firestore-surface.md must list exactly the public declarations that exist.

import Foundation
import Testing

@Suite(.drivesCompiler) struct SurfaceTests {
  private static let usage = "Tests/FirebaseFirestoreTests/Surface/Surface.swift"
  private static let page = "docs/firestore-surface.md"
  private static let declarations = "Tests/Fixtures/Firestore/declarations.txt"
  /// The directory that contains the description of the original API. This description is not part of the
  /// repository.
  private static let contract = ProcessInfo.processInfo.environment["FIRESTORE_CONTRACT"]

  @Test(arguments: ["5", "6"]) func codeForTheOriginalFirestoreCompiles(mode: String) async throws {
    var compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    compiler.mode = mode
    let file = RepositoryTree.root.appendingPathComponent(Self.usage)
    expectNone(try await compiler.typecheck(file))
  }

  @Test func theAPIPageListsEveryPublicMember() async throws {
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    let members = try await compiler.publicMembers(of: "FirebaseFirestore")
    try #require(members.count > 300)
    let tree = try RepositoryTree.repository()
    let listed = Self.members(on: try #require(tree.texts[Self.page]))
    let (missing, extra) = (members.subtracting(listed).sorted(), listed.subtracting(members).sorted())
    #expect(missing.isEmpty, "not on \(Self.page): \(missing.joined(separator: ", "))")
    #expect(extra.isEmpty, "on \(Self.page), but not there: \(extra.joined(separator: ", "))")
  }

  /// Compares each declaration of the original as a whole with the declarations here: labels, types,
  /// defaults, async and throws, superclasses and conformances.
  @Test func everyOriginalDeclarationExists() async throws {
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    var symbols: [SwiftCompiler.PublicSymbol] = []
    for module in ["FirebaseFirestore", "FirebaseCore"] {
      symbols += try await compiler.publicSymbols(of: module)
    }
    let here = Dictionary(grouping: symbols, by: \.owner).mapValues { symbols in
      Set(symbols.map { Declaration($0.declaration) })
    }
    let kin = Dictionary(symbols.map { ($0.path, $0.kin) }, uniquingKeysWith: { $0.union($1) })
    let list = try Self.originals()
    var covered = 0
    var wrong: [String] = []
    for entry in list.entries {
      let isHere = here[entry.type]?.contains(entry.here) ?? false
      if !isHere { wrong.append("not declared so in \(entry.type): \(entry.here.text)") }
      covered += isHere ? 1 : 0
    }
    #expect(!list.kin.isEmpty)
    for (type, expected) in list.kin {
      let missing = expected.subtracting(try #require(kin[type], "there is no \(type)")).sorted()
      if !missing.isEmpty { wrong.append("\(type) is no \(missing.joined(separator: ", "))") }
    }
    #expect(wrong == [])
    print("declarations of the original: \(covered)/\(list.entries.count) covered, \(list.kin.count) types")
  }

  /// Checks that the list of declarations to compare contains every name in the first section of the
  /// description.
  @Test(.enabled(if: contract != nil, "FIRESTORE_CONTRACT names no directory: its names are NOT looked for"))
  func theDeclarationListContainsEveryNameOfTheContract() throws {
    let text = try String(contentsOfFile: try #require(Self.contract) + "/firestore.md", encoding: .utf8)
    let section = try #require(text.firstMatch(of: #/(?s)\n# 1 Surface(.+?)\n# 2 /#)).1
    let listed = Set(try Self.originals().entries.map { "\($0.type).\($0.name)" })
    var names = Set<String>()
    for block in section.matches(of: #/(?s)```swift\n(.+?)```/#) {
      var type = ""
      for line in block.1.split(separator: "\n") {
        let code = line.components(separatedBy: "//")[0]
        if let heading = code.prefixMatch(of: #/(?:class|protocol|enum|extension) (\w+)/#) {
          type = String(heading.1)
        }
        for member in code.matches(of: #/\bfunc (\w+)|\b(?:var|let|case) ([\w`]+(?:, \w+)*)|\b(init)\b/#) {
          let found = member.1 ?? member.2 ?? member.3 ?? ""
          for name in found.replacing("`", with: "").components(separatedBy: ", ") {
            // A name with this prefix is a constant at module level, so no type precedes it.
            names.insert(name.hasPrefix("FirestoreCacheSize") ? ".\(name)" : "\(type).\(name)")
          }
        }
      }
    }
    names.remove("Firestore.pipeline")
    // This method exists only with Apple's frameworks.
    names.remove("Query.filter")
    try #require(names.count > 140)
    let missing = names.subtracting(listed).sorted()
    #expect(missing.isEmpty, "not in \(Self.declarations): \(missing.joined(separator: ", "))")
    print("names of the description: \(names.count - missing.count)/\(names.count) listed")
  }

  private static func originals() throws -> DeclarationList {
    let file = RepositoryTree.root.appendingPathComponent(declarations)
    let list = DeclarationList(try String(contentsOf: file, encoding: .utf8))
    try #require(list.entries.count > 280)
    return list
  }

  /// Checks that the file uses each member, by a comparison of words. The member's name and its argument
  /// labels must occur in the file; for an initializer, the name of its type must occur. The label of a
  /// trailing closure need not occur.
  @Test func everyOriginalMemberIsUsed() throws {
    let tree = try RepositoryTree.repository()
    let code = try #require(tree.texts[Self.usage])
    let words = Set(code.matches(of: #/\w+/#).map { String($0.output) })
    var used = 0
    var unused: [String] = []
    for entry in Self.entries(on: try #require(tree.texts[Self.page])) where !entry.isAddition {
      let type = entry.type.split(separator: ".").last.map(String.init) ?? ""
      let parts = entry.member.split(whereSeparator: { "(:)".contains($0) }).map(String.init)
      // These members are called implicitly by the compiler, by sets and by patterns.
      let isImplied = ["hash", "isEqual", "encode", "subscript", "~="].contains(parts[0])
      let isFromCoder = entry.member == "init(from:)"
      let name = parts[0] == "init" ? type : parts[0]
      let labels = parts.dropFirst().filter { $0 != "_" && !["listener", "completion"].contains($0) }
      let isUsed = isImplied || isFromCoder || ([name] + labels).allSatisfy(words.contains)
      if !isUsed { unused.append("\(entry.type).\(entry.member)") }
      used += isUsed ? 1 : 0
    }
    #expect(unused == [])
    try #require(used > 350)
    print("members of the original: \(used) used")
  }

  /// Checks that each method that takes a field is called both with the field's name and with its path, on
  /// queries, filters and aggregates.
  @Test func fieldMethodsAreCalledByNameAndByPath() throws {
    let tree = try RepositoryTree.repository()
    let code = try #require(tree.texts[Self.usage])
    var calls = 0
    var missing: [String] = []
    for entry in Self.entries(on: try #require(tree.texts[Self.page])) where !entry.isAddition {
      guard let call = entry.member.wholeMatch(of: #/(whereField|order|sum|average)\((_|by):(?:(\w+):)?\)/#),
        ["Query", "Filter", "AggregateField"].contains(entry.type)
      else { continue }
      let label = call.2 == "_" ? "" : "\(call.2): "
      let rest = call.3.map { ", \($0): " } ?? ")"
      for argument in [#""\w+""#, #"(?:path|FieldPath\.documentID\(\))"#] {
        let before = entry.type == "Query" ? #"(?:\)|query|\s)\."# : "\(entry.type)\\."
        let pattern = "\(before)\(call.1)\\(\(label)\(argument)\(rest == ")" ? "\\)" : rest)"
        if try code.firstMatch(of: Regex(pattern)) == nil { missing.append(pattern) }
        calls += 1
      }
    }
    #expect(missing == [])
    #expect(calls == 2 * (10 + 10 + 2 + 2))
  }

  @Test func everyAPIAdditionIsDescribedInAGuide() throws {
    let tree = try RepositoryTree.repository()
    let guides = try ["beyond-firestore", "change-feed", "offline", "second-process"].map { name in
      try #require(tree.texts["docs/guides/\(name).md"])
    }
    let words = Set(guides.joined().matches(of: #/\w+/#).map { String($0.output) })
    let entries = Self.entries(on: try #require(tree.texts[Self.page]))
    let marked = entries.filter { $0.isMarked }
    #expect(!marked.isEmpty)
    let undescribed = marked.filter { !words.contains(String($0.member.prefix { $0 != "(" })) }
    #expect(undescribed.map { "\($0.type).\($0.member)" } == [], "no guide tells of these members")
    let types = Set(entries.filter { $0.isAddition && !$0.isMarked }.map { $0.type.prefix { $0 != "." } })
    try #require(types.count > 8)
    #expect(types.filter { !words.contains(String($0)) } == [], "no guide tells of these types")
  }

  private struct Entry {
    var type: String
    var member: String
    /// Whether the member is marked as an addition, or is in a section of additions.
    var isAddition: Bool
    var isMarked: Bool
  }

  private static func entries(on page: String) -> [Entry] {
    var entries: [Entry] = []
    var (type, isAddition) = ("", false)
    for line in page.split(separator: "\n") {
      if let heading = line.wholeMatch(of: #/## (.+)/#) {
        isAddition = heading.1.contains("additions")
      } else if let heading = line.wholeMatch(of: #/### `(.+)`/#) {
        type = String(heading.1)
      } else if let entry = line.prefixMatch(of: #/- `(.+?)`/#) {
        let isMarked = line.contains("(addition)")
        entries.append(
          Entry(
            type: type, member: String(entry.1), isAddition: isAddition || isMarked, isMarked: isMarked))
      }
    }
    return entries
  }

  /// Returns the members on the page: level-3 headings are types, and each code span at the start of an
  /// entry is a member.
  static func members(on page: String) -> Set<String> {
    var members = Set<String>()
    var type = ""
    for line in page.split(separator: "\n") {
      if let heading = line.wholeMatch(of: #/### `(.+)`/#) {
        type = String(heading.1)
        if type != "Global" { members.insert(type) }
      } else if let entry = line.prefixMatch(of: #/- `(.+?)`/#) {
        members.insert(type == "Global" ? String(entry.1) : "\(type).\(entry.1)")
      }
    }
    return members
  }
}
