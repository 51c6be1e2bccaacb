// If a model class has no reflection metadata, the program ends with a message instead of losing the class's
// fields.

import Foundation
import Testing

@Suite(.drivesCompiler) struct HiddenPropertiesTests {
  private static let program = """
    import Foundation
    import Pring

    class Seen: Object {}

    class Person: Seen { var name = "Ada" }

    if Seen().rawValue.isEmpty { FileHandle.standardError.write(Data("nothing to lose ".utf8)) }
    print(Person().rawValue)
    """

  @Test func aModuleWithoutReflectionMetadataTrapsWithAReason() async throws {
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hidden-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let program = try await compiler.program(
      Self.program, linking: Self.modules, flags: ["-Xfrontend", "-disable-reflection-metadata"], in: folder)
    let process = Process()
    process.executableURL = program
    // A backtrace would take longer than the rest of the test.
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    let complaints = Pipe()
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, complaints)
    try process.run()
    let words = String(decoding: complaints.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    // A class without properties has no fields to lose.
    #expect(words.contains("nothing to lose"))
    #expect(process.terminationReason == .uncaughtSignal)
    #expect(words.contains("The properties of Person cannot be seen"))
    #expect(words.contains("-disable-reflection-metadata"))
  }

  /// The modules that a program with `Pring` links.
  private static let modules = LinkedModules.firebase + ["LayerKit", "Pring"]
}
