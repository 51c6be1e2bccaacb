// The surface of FirebaseFirestore: code written for it compiles in both language modes, and the page that lists it
// lists just what is there.

import Foundation
import Testing

@Suite struct SurfaceTests {
  private static let usage = "Tests/FirebaseFirestoreTests/Surface/Surface.swift"
  private static let page = "docs/firestore-surface.md"

  @Test(arguments: ["5", "6"]) func codeWrittenForTheOriginalCompiles(mode: String) async throws {
    var compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    compiler.mode = mode
    let file = RepositoryTree.root.appendingPathComponent(Self.usage)
    expectNone(try await compiler.typecheck(file))
  }

  @Test func thePageListsEveryPublicMember() async throws {
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    let members = try await compiler.publicMembers(of: "FirebaseFirestore")
    try #require(members.count > 300)
    let tree = try RepositoryTree.repository()
    let listed = Self.members(on: try #require(tree.texts[Self.page]))
    let (missing, extra) = (members.subtracting(listed).sorted(), listed.subtracting(members).sorted())
    #expect(missing.isEmpty, "not on \(Self.page): \(missing.joined(separator: ", "))")
    #expect(extra.isEmpty, "on \(Self.page), but not there: \(extra.joined(separator: ", "))")
  }

  /// Headings of the third level are types; below them, each code span at the start of an entry is a member.
  private static func members(on page: String) -> Set<String> {
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
