// Code written for the original Pring compiles in both language modes.

import Foundation
import Testing

@Suite(.drivesCompiler) struct PringSurfaceTests {
  /// The files that must compile. PlainNames.swift declares models under `@testable import Pring`.
  private static let files = [
    "Tests/Fixtures/Pring/Surface.swift", "Tests/PringTests/OldApp/Kitchen.swift",
    "Tests/PringTests/OldApp/PlainNames.swift",
  ]

  @Test(arguments: ["5", "6"], files) func codeForTheOriginalPringCompiles(
    mode: String, file: String
  ) async throws {
    var compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    compiler.mode = mode
    expectNone(try await compiler.typecheck(RepositoryTree.root.appendingPathComponent(file)))
  }
}
