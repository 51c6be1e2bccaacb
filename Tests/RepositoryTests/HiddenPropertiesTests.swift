// A class whose properties the runtime does not tell ends its program and says why, rather than lose its fields.

import Foundation
import Testing

@Suite struct HiddenPropertiesTests {
  private static let program = """
    import Pring

    class Seen: Object {}

    class Person: Seen { var name = "Ada" }

    print(Seen().rawValue.isEmpty)
    print(Person().rawValue)
    """

  @Test func aModuleWithoutReflectionMetadataEndsItsProgramAndSaysWhy() async throws {
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hidden-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let program = try await compiler.program(
      Self.program, linking: Self.modules, flags: ["-Xfrontend", "-disable-reflection-metadata"], in: folder)
    let process = Process()
    process.executableURL = program
    // A report of the crash takes longer than everything else.
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    let (said, complained) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (said, complained)
    try process.run()
    let output = said.fileHandleForReading.readDataToEndOfFile()
    let words = String(decoding: complained.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    // A class without properties has none to lose.
    #expect(String(decoding: output, as: UTF8.self).hasPrefix("true\n"))
    #expect(process.terminationReason == .uncaughtSignal)
    #expect(words.contains("The properties of Person cannot be seen"))
    #expect(words.contains("-disable-reflection-metadata"))
  }

  /// What a program with `Pring` consists of.
  private static let modules = [
    "CDigest", "CFileSystem", "ByteStore", "DocumentStore", "OfflineSync", "FirebaseCore",
    "FirebaseFirestore", "FirebaseStorage", "Pring",
  ]
}
