// Code written for the original Ballcap compiles in both language modes.

import Foundation
import Testing

@Suite(.drivesCompiler) struct BallcapSurfaceTests {
  @Test(arguments: ["5", "6"]) func codeForTheOriginalBallcapCompiles(mode: String) async throws {
    var compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    compiler.mode = mode
    for name in ["Surface", "FileSurface", "ScopedImport"] {
      let file = RepositoryTree.root.appendingPathComponent("Tests/Fixtures/Ballcap/\(name).swift")
      expectNone(try await compiler.typecheck(file))
    }
  }
}
