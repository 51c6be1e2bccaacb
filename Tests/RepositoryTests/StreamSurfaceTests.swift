// Checks that code written for the original StreamBaseKit compiles in both Swift language modes, 5 and 6.

import Foundation
import Testing

@Suite(.drivesCompiler) struct StreamSurfaceTests {
  @Test(arguments: ["5", "6"]) func codeForTheOriginalStreamBaseKitCompiles(mode: String) async throws {
    var compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    compiler.mode = mode
    let file = RepositoryTree.root.appendingPathComponent("Tests/Fixtures/StreamBaseKit/Surface.swift")
    expectNone(try await compiler.typecheck(file))
  }
}
