// Runs the first example of the README as a program. The program prints its result or the error.

import Foundation
import Testing

@Suite(.drivesCompiler) struct FirstExampleTests {
  @Test func readmeFirstExamplePrintsItsResultOrError() async throws {
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("first-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let page = try #require(try RepositoryTree.repository().texts["README.md"])
    let example = try #require(Snippet.all(on: "README.md", text: page).snippets.first)
    let program = try await compiler.program(
      example.fences.flatMap(\.lines).joined(separator: "\n"), linking: try Self.modules(),
      flags: [], in: folder)

    let found = try Self.run(program, data: folder.appendingPathComponent("data"))
    #expect(found.output == "Ada\n" && found.status == 0)
    // The open fails, because a file cannot contain a directory.
    let file = folder.appendingPathComponent("file")
    try Data().write(to: file)
    let failed = try Self.run(program, data: file)
    #expect(failed.output.hasPrefix("Ada was not saved: ") && failed.output.contains(file.path))
    #expect(failed.status == 1)
  }

  private static func run(_ program: URL, data: URL) throws -> (output: String, status: Int32) {
    let process = Process()
    process.executableURL = program
    process.environment = ProcessInfo.processInfo.environment.merging(["XDG_DATA_HOME": data.path]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let words = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (words, process.terminationStatus)
  }

  /// The modules that a program with Ballcap links.
  private static func modules() throws -> [String] {
    let sources = RepositoryTree.root.appendingPathComponent("Sources/Layers").path
    let layer = try FileManager.default.contentsOfDirectory(atPath: sources).filter {
      $0.hasPrefix("Ballcap")
    }
    return LinkedModules.firebase + ["LayerKit"] + layer.sorted()
  }
}
