// Checks the public API of FirebaseAuth: code written for the original compiles in both language modes, and
// the page docs/auth-surface.md lists exactly the public declarations that exist.

import Foundation
import Testing

@Suite(.drivesCompiler) struct AuthSurfaceTests {
  private static let usage = "Tests/Fixtures/Auth/Surface.swift"
  private static let page = "docs/auth-surface.md"

  @Test(arguments: ["5", "6"]) func codeForTheOriginalFirebaseAuthCompiles(mode: String) async throws {
    var compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    compiler.mode = mode
    expectNone(try await compiler.typecheck(RepositoryTree.root.appendingPathComponent(Self.usage)))
  }

  @Test func theAPIPageListsEveryPublicMember() async throws {
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    let members = try await compiler.publicMembers(of: "FirebaseAuth")
    try #require(members.count > 40)
    let tree = try RepositoryTree.repository()
    let listed = SurfaceTests.members(on: try #require(tree.texts[Self.page]))
    let (missing, extra) = (members.subtracting(listed).sorted(), listed.subtracting(members).sorted())
    #expect(missing.isEmpty, "not on \(Self.page): \(missing.joined(separator: ", "))")
    #expect(extra.isEmpty, "on \(Self.page), but not there: \(extra.joined(separator: ", "))")
  }
}
