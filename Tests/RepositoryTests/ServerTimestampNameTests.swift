// The meaning of the name `ServerTimestamp`, which depends on a file's imports.
//
// Ballcap has an enumeration of that name, and Firestore has a property wrapper of that name. Ballcap
// re-exports its enumeration by name from the module `BallcapFields`. A re-export by name shadows the names
// that a whole-module import brings into scope. These tests verify this rule of the compiler, and every
// spelling of both types.

import Foundation
import Testing

@Suite(.drivesCompiler) struct ServerTimestampNameTests {
  struct Use: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// The texts of the files of one module.
    var files: [String]
    var flags: [String] = []
  }

  /// A model outside of any class, as in code written for Ballcap.
  private static let model = """
    struct Article: Codable, Modelable {
      var title: String = ""
      var seen: ServerTimestamp = .pending
      var created: Ballcap.ServerTimestamp = ServerTimestamp.pending
    }
    func text(_ time: ServerTimestamp) -> String {
      switch time {
      case .pending: return "pending"
      case .resolved(let time): return "\\(time.seconds)"
      }
    }
    func titles() -> [String] {
      let article = Document<Article>(id: "a")
      let time: ServerTimestamp = article[\\.seen]
      return [text(time), text(ServerTimestamp.pending), text(time == .pending ? article[\\.created] : time)]
    }

    """

  private static let shop = """
    final class Shop: Object, DataRepresentable {
      struct Model: Codable, Modelable {
        var opened: ServerTimestamp = .pending
        var owner: Owner = Owner()
        struct Owner: Codable, Equatable { var joined: ServerTimestamp = .pending }
      }
      var data: Shop.Model?
      func open() { data?.opened = ServerTimestamp.pending }
    }

    """

  private static let wrapped = """
    struct Note: Codable {
      @ServerTimestamp var created: Timestamp?
    }

    """

  private static let publicModel = """
    public struct Article: Codable, Modelable {
      public var seen: ServerTimestamp = .pending
      public init() {}
    }

    """

  private static func imports(_ modules: String...) -> String {
    modules.map { "import \($0)\n" }.joined()
  }

  private static let uses = [
    Use(
      testDescription: "Ballcap before Firestore",
      files: [imports("Ballcap", "FirebaseFirestore") + model + shop]),
    Use(
      testDescription: "Firestore before Ballcap",
      files: [imports("FirebaseFirestore", "Ballcap") + model + shop]),
    Use(testDescription: "the umbrella", files: [imports("Firebase", "Ballcap") + model + shop]),
    Use(
      testDescription: "the module that had the wrapper once",
      files: [imports("Ballcap", "FirebaseFirestore", "FirebaseFirestoreSwift") + model + shop]),
    Use(
      testDescription: "Storage as well",
      files: [imports("FirebaseStorage", "FirebaseFirestore", "Ballcap") + model + shop]),
    Use(
      testDescription: "Ballcap alone",
      files: [
        imports("Ballcap") + shop + "struct A: Codable, Modelable { var t: ServerTimestamp = .pending }"
      ]),
    Use(
      testDescription: "the old import of the enumeration",
      files: [imports("Ballcap", "FirebaseFirestore", "enum Ballcap.ServerTimestamp") + model + shop]),
    Use(
      testDescription: "the enumeration from its own module",
      files: [
        imports("FirebaseFirestore", "enum BallcapFields.ServerTimestamp")
          + "let time: ServerTimestamp = .pending"
      ]),
    Use(
      testDescription: "under a testable import",
      files: ["@testable import Ballcap\nimport FirebaseFirestore\n" + model + shop]),
    Use(
      testDescription: "as part of a public interface",
      files: [imports("Ballcap", "FirebaseFirestore") + publicModel]),
    Use(
      testDescription: "with the rules of the next language mode",
      files: [
        "public import Ballcap\nimport FirebaseFirestore\n" + publicModel,
        imports("Ballcap", "FirebaseFirestore") + shop,
      ],
      flags: [
        "-enable-upcoming-feature", "MemberImportVisibility", "-enable-upcoming-feature",
        "InternalImportsByDefault", "-enable-upcoming-feature", "ExistentialAny",
      ]),
    Use(testDescription: "the wrapper with Firestore alone", files: [imports("FirebaseFirestore") + wrapped]),
    Use(
      testDescription: "the wrapper beside both, by its whole name",
      files: [
        imports("Ballcap", "FirebaseFirestore") + model
          + wrapped.replacing("@ServerTimestamp", with: "@FirebaseFirestore.ServerTimestamp")
      ]),
    Use(
      testDescription: "one file with the wrapper and one with the enumeration",
      files: [imports("FirebaseFirestore") + wrapped, imports("Ballcap", "FirebaseFirestore") + model]),
  ]

  /// Debug and release builds, in both language modes.
  private static let builds = [(mode: "6", optimisation: "-Onone"), (mode: "5", optimisation: "-O")]

  @Test(arguments: uses, builds)
  func everySpellingOfServerTimestampCompiles(use: Use, build: (mode: String, optimisation: String))
    async throws
  {
    var compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    compiler.mode = build.mode
    expectNone(try await compiler.compile(use.files, flags: use.flags + [build.optimisation]))
  }

  /// As documented, the bare name means the enumeration, which is not a property wrapper.
  @Test func theWrapperIsRefusedWithoutItsModuleName() async throws {
    let compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    let text = Self.imports("Ballcap", "FirebaseFirestore") + Self.wrapped
    let found = try await compiler.compile([text], flags: [])
    #expect(found.map(\.line) == [4])
    #expect(
      found.allSatisfy { $0.sentence.contains("enum 'ServerTimestamp' cannot be used as an attribute") })
  }

  /// Verifies the rule itself with one-line modules, compiled as in debug and release builds.
  @Test(arguments: ["-Onone", "-O"]) func aScopedReexportShadowsAWholeModuleImport(
    optimisation: String
  ) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shadowing-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var compiler = SwiftCompiler(build: nil)
    for (name, text) in [
      ("Wrappers", "public struct Time { public init() {} }"),
      ("Fields", "public enum Time: Sendable { case pending }"),
      ("Scoped", "@_exported public import enum Fields.Time"), ("Whole", "@_exported public import Fields"),
    ] {
      try await compiler.emitModule(name, text, flags: [optimisation], in: folder)
    }
    let text = "func time() -> Time { Time.pending }"
    var wrong: [String] = []
    for mode in ["5", "6"] {
      compiler.mode = mode
      for modules in [["Scoped", "Wrappers"], ["Wrappers", "Scoped"]] {
        let imports = modules.map { "import \($0)\n" }.joined()
        expectNone(try await compiler.compile([imports + text], flags: [optimisation, "-I", folder.path]))
      }
      // If the imports do not name the declaration, neither import has precedence.
      let ambiguous = try await compiler.compile(
        ["import Whole\nimport Wrappers\n" + text], flags: [optimisation, "-I", folder.path])
      if !ambiguous.contains(where: { $0.sentence.contains("ambiguous") }) {
        wrong.append("mode \(mode): \(ambiguous)")
      }
    }
    #expect(wrong == [])
  }

  /// Compiles a small program in debug and release builds and in both language modes, and runs it. The
  /// program prints the values that it reads back and the values that its completions receive.
  @Test(arguments: builds)
  func aProgramForTheOriginalBallcapCompilesAndRuns(mode: String, optimisation: String) async throws {
    var compiler = SwiftCompiler(build: try SwiftCompiler.runningBuild())
    compiler.mode = mode
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("newsroom-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let fixture = RepositoryTree.root.appendingPathComponent("Tests/Fixtures/Ballcap/Program.swift")
    let main = """
      import Foundation
      FirebaseApp.configure()
      let newsroom = Newsroom()
      newsroom.open { exit(0) }
      dispatchMain()
      """
    let program = try await compiler.program(
      try String(contentsOf: fixture, encoding: .utf8) + main, linking: Self.modules, flags: [optimisation],
      in: folder)
    let process = Process()
    process.executableURL = program
    process.environment = ProcessInfo.processInfo.environment.merging(["XDG_DATA_HOME": folder.path]) { $1 }
    let answers = Pipe()
    process.standardOutput = answers
    try process.run()
    let words = String(decoding: answers.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(
      words == """
        copied: freed true
        saved: freed true
        published: freed true
        listed: First 1 resolved

        """)
  }

  /// The modules that a program with `Ballcap` links.
  private static let modules = LinkedModules.firebase + ["BallcapFields", "LayerKit", "Ballcap"]
}
