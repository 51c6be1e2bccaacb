// Runs the Swift compiler on snippets.

import Foundation

struct SwiftCompiler {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// The folder of the running build, which contains the compiled modules; nil for snippets that need no
  /// modules of the build.
  var build: URL?
  /// The language mode.
  var mode = "6"
  /// The path of swiftc; nil if there is none.
  var executable: String? = path

  /// Compiles snippets without producing output. Returns the compiler's errors with their locations in the
  /// pages.
  func typecheck(_ snippets: [Snippet]) async throws -> [Violation] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("snippets-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var files: [String] = []
    for (index, snippet) in snippets.enumerated() {
      let file = folder.appendingPathComponent("Snippet\(index + 1).swift")
      try SnippetFile.text(of: snippet).write(to: file, atomically: true, encoding: .utf8)
      files.append(file.path)
    }
    let output = folder.appendingPathComponent("output.txt")
    let status = try await run(["-typecheck"] + arguments + files, output: output)
    let words = try String(contentsOf: output, encoding: .utf8)
    return Self.violations(in: words, status: status, pages: snippets.map(\.page))
  }

  /// Compiles a file of the repository without producing output. Returns the compiler's errors.
  func typecheck(_ file: URL) async throws -> [Violation] {
    let output = FileManager.default.temporaryDirectory.appendingPathComponent("typecheck-\(UUID()).txt")
    defer { try? FileManager.default.removeItem(at: output) }
    let status = try await run(["-typecheck"] + arguments + [file.path], output: output)
    return Self.violations(
      in: try String(contentsOf: output, encoding: .utf8), status: status, pages: [file.lastPathComponent])
  }

  /// Compiles texts to object code, as the files of one module. Returns the compiler's errors. Each error is
  /// located in `FileN.swift`, where N is the number of the text, counted from 1.
  func compile(_ texts: [String], flags: [String]) async throws -> [Violation] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("compile-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var files: [String] = []
    for (index, text) in texts.enumerated() {
      let file = folder.appendingPathComponent("File\(index + 1).swift")
      try text.write(to: file, atomically: true, encoding: .utf8)
      files.append(file.path)
    }
    let output = folder.appendingPathComponent("output.txt")
    let object = folder.appendingPathComponent("object.o")
    let status = try await run(["-c"] + arguments + flags + files + ["-o", object.path], output: output)
    let words = try String(contentsOf: output, encoding: .utf8).replacing("\(folder.path)/", with: "")
    return Self.violations(in: words, status: status, pages: files)
  }

  /// Compiles a text to a separate module in a folder. With `-I` and this folder, later compilations find the
  /// module.
  func emitModule(_ name: String, _ text: String, flags: [String], in folder: URL) async throws {
    let file = folder.appendingPathComponent("\(name).swift")
    try text.write(to: file, atomically: true, encoding: .utf8)
    let output = folder.appendingPathComponent("output.txt")
    let result = ["-o", folder.appendingPathComponent("\(name).swiftmodule").path, file.path]
    let status = try await run(
      ["-emit-module"] + arguments + ["-module-name", name, "-I", folder.path] + flags + result,
      output: output)
    guard status == 0 else { throw Failure(description: try String(contentsOf: output, encoding: .utf8)) }
  }

  /// Compiles a program and links it with object files of the build. Returns the path of the program.
  func program(
    _ text: String, linking modules: [String], flags: [String], in folder: URL
  ) async throws -> URL {
    guard let build else { throw Failure(description: "There is no build.") }
    let main = folder.appendingPathComponent("main.swift")
    let program = folder.appendingPathComponent("program")
    try text.write(to: main, atomically: true, encoding: .utf8)
    var arguments = ["-swift-version", mode, "-I", build.appendingPathComponent("Modules").path]
    arguments += ["-module-cache-path", build.appendingPathComponent("ModuleCache").path]
    for map in try Self.moduleMaps(build) { arguments += ["-Xcc", "-fmodule-map-file=\(map)"] }
    arguments += try Self.objects(of: modules, in: build)
    arguments += flags + [main.path, "-llz4", "-o", program.path]
    let output = folder.appendingPathComponent("output.txt")
    guard try await run(arguments, output: output) == 0 else {
      throw Failure(description: try String(contentsOf: output, encoding: .utf8))
    }
    return program
  }

  /// Returns the object files of modules. Takes their paths from the link list of the tests, because a build
  /// folder also keeps object files whose sources were renamed or deleted.
  private static func objects(of modules: [String], in build: URL) throws -> [String] {
    let list = build.appendingPathComponent("DugoutPackageTests.product/Objects.LinkFileList")
    let paths = try String(contentsOf: list, encoding: .utf8).split(separator: "\n")
      .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "'\"")) }
    let objects = modules.flatMap { module in paths.filter { $0.contains("/\(module).build/") } }
    guard !objects.isEmpty else { throw Failure(description: "\(list.path) lists no object of \(modules).") }
    return objects
  }

  /// Returns the paths of the public symbols of a module of the build, such as `Type.member(label:)`.
  func publicMembers(of module: String) async throws -> Set<String> {
    Set(try await publicSymbols(of: module).map(\.path))
  }

  struct PublicSymbol {
    /// For example `Type.member(label:)`.
    var path: String
    /// Whether the symbol, or a symbol that it implements or overrides, has a comment.
    var isDocumented: Bool
    /// The declaration as the compiler prints it.
    var declaration: String
    /// The names of superclasses and protocols, without their modules.
    var kin: Set<String>

    /// The path of the type that contains the symbol; empty if no type contains it.
    var owner: String { path.split(separator: ".").dropLast().joined(separator: ".") }
  }

  /// Returns the public symbols of a module, from the module's symbol graph.
  func publicSymbols(of module: String) async throws -> [PublicSymbol] {
    let decoded = try await symbolGraph(of: module, level: "public")
    let derived = Set(decoded.relationships.filter(\.isDerived).map(\.source))
    let names = Dictionary(
      decoded.symbols.map { ($0.identifier.precise, $0.pathComponents.last ?? "") }, uniquingKeysWith: { $1 })
    var kin: [String: Set<String>] = [:]
    for relationship in decoded.relationships where relationship.isKinship {
      let fallback = relationship.targetFallback?.split(separator: ".").last.map(String.init)
      guard let name = names[relationship.target] ?? fallback else { continue }
      kin[relationship.source, default: []].insert(name)
    }
    return decoded.symbols.map { symbol in
      PublicSymbol(
        path: symbol.pathComponents.joined(separator: "."),
        isDocumented: symbol.docComment != nil || derived.contains(symbol.identifier.precise),
        declaration: symbol.declarationFragments.map(\.spelling).joined(),
        kin: kin[symbol.identifier.precise] ?? [])
    }
  }

  /// Returns the symbol graph of a module of the build: the symbols that have at least the given access
  /// level, and the relationships of these symbols.
  func symbolGraph(of module: String, level: String) async throws -> SymbolGraph {
    guard let build, let tool = executable.map({ URL(fileURLWithPath: $0).deletingLastPathComponent() })
    else {
      throw Failure(description: "There is no build, or no toolchain.")
    }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("symbols-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var extractor = self
    extractor.executable = tool.appendingPathComponent("swift-symbolgraph-extract").path
    let output = folder.appendingPathComponent("output.txt")
    var arguments = ["-module-name", module, "-output-dir", folder.path, "-minimum-access-level", level]
    arguments += ["-skip-synthesized-members", "-target", Self.target]
    arguments += ["-I", build.appendingPathComponent("Modules").path]
    for map in try Self.moduleMaps(build) { arguments += ["-Xcc", "-fmodule-map-file=\(map)"] }
    let status = try await extractor.run(arguments, output: output)
    let graph = folder.appendingPathComponent("\(module).symbols.json")
    guard status == 0, let data = try? Data(contentsOf: graph) else {
      throw Failure(description: try String(contentsOf: output, encoding: .utf8))
    }
    return try JSONDecoder().decode(SymbolGraph.self, from: data)
  }

  struct SymbolGraph: Decodable {
    struct Symbol: Decodable {
      struct Kind: Decodable { var identifier: String }
      struct Identifier: Decodable { var precise: String }
      struct Comment: Decodable {}
      struct Fragment: Decodable { var spelling: String }
      var kind: Kind
      var identifier: Identifier
      var pathComponents: [String]
      var accessLevel: String
      var docComment: Comment?
      var declarationFragments: [Fragment]
    }
    struct Relationship: Decodable {
      struct Origin: Decodable {}
      var kind: String
      var source: String
      var target: String
      var targetFallback: String?
      var sourceOrigin: Origin?

      var isKinship: Bool { ["inheritsFrom", "conformsTo"].contains(kind) }

      var isDerived: Bool {
        sourceOrigin != nil
          || ["overrides", "defaultImplementationOf", "optionalRequirementOf"].contains(kind)
      }
    }
    var symbols: [Symbol]
    var relationships: [Relationship]
  }

  private static var target: String {
    #if arch(arm64)
    let architecture = "aarch64"
    #else
    let architecture = "x86_64"
    #endif
    #if os(Linux)
    return "\(architecture)-unknown-linux-gnu"
    #else
    return "\(architecture == "aarch64" ? "arm64" : architecture)-apple-macosx15.0"
    #endif
  }

  private var arguments: [String] {
    get throws {
      var arguments = [
        "-swift-version", mode, "-parse-as-library", "-wmo", "-module-name", "Snippets",
        "-suppress-warnings", "-diagnostic-style", "llvm", "-no-color-diagnostics",
      ]
      guard let build else { return arguments }
      arguments += ["-I", build.appendingPathComponent("Modules").path]
      arguments += ["-module-cache-path", build.appendingPathComponent("ModuleCache").path]
      for map in try Self.moduleMaps(build) { arguments += ["-Xcc", "-fmodule-map-file=\(map)"] }
      return arguments
    }
  }

  /// Returns the paths of the module maps of the C modules. A module map is either written by hand in Sources
  /// or generated by the build.
  private static func moduleMaps(_ build: URL) throws -> [String] {
    try ["Sources/Engine", "Sources/Network"].flatMap { try moduleMaps(build, of: $0) }
  }

  private static func moduleMaps(_ build: URL, of band: String) throws -> [String] {
    let sources = RepositoryTree.root.appendingPathComponent(band)
    return try FileManager.default.contentsOfDirectory(atPath: sources.path).sorted().compactMap { module in
      let places = [
        sources.appendingPathComponent("\(module)/module.modulemap"),
        sources.appendingPathComponent("\(module)/include/module.modulemap"),
        build.appendingPathComponent("\(module).build/module.modulemap"),
      ]
      return places.map(\.path).first { FileManager.default.fileExists(atPath: $0) }
    }
  }

  private func run(_ arguments: [String], output: URL) async throws -> Int32 {
    guard let executable else {
      throw Failure(description: "There is no swiftc beside the running toolchain or in PATH.")
    }
    try Data().write(to: output)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = try FileHandle(forWritingTo: output)
    return try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do { try process.run() } catch { continuation.resume(throwing: error) }
    }
  }

  private static func violations(in words: String, status: Int32, pages: [String]) -> [Violation] {
    let errors = words.matches(of: #/(?m)^(.+?):(\d+):\d+: error: (.*)$/#).map {
      Violation(path: String($0.1), line: Int($0.2), sentence: "The snippet does not compile: \($0.3).")
    }
    if status == 0 || !errors.isEmpty { return errors }
    let sentence = "The compiler failed with status \(status): \(words)"
    return [Violation(path: pages.first ?? "", line: nil, sentence: sentence)]
  }
}

extension SwiftCompiler {
  /// The path of a compiler: the one in the toolchain whose libraries this process uses, or else the first
  /// compiler in PATH.
  static var path: String? {
    let candidates =
      toolchainFolders
      + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      .map(String.init)
    return candidates.map { $0 + "/swiftc" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  private static var toolchainFolders: [String] {
    guard let maps = try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8),
      let match = maps.firstMatch(of: #/(\/.*)\/lib\/swift\/linux\/libswiftCore\.so/#)
    else { return [] }
    return ["\(match.1)/bin"]
  }

  /// Returns the folder of the build to which this test belongs: the nearest folder above the test's own
  /// files that contains compiled modules.
  static func runningBuild() throws -> URL {
    let own =
      CommandLine.arguments.filter { $0.hasPrefix("/") } + [
        Bundle(for: Marker.self).bundlePath, Bundle.main.bundlePath,
      ]
    for path in own {
      var folder = URL(fileURLWithPath: path)
      while folder.path != "/" {
        let modules = folder.appendingPathComponent("Modules").path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: modules)) ?? []
        if names.contains(where: { $0.hasSuffix(".swiftmodule") }) { return folder }
        folder.deleteLastPathComponent()
      }
    }
    throw Failure(description: "No folder above \(own) holds the modules of a build.")
  }

  private final class Marker {}
}
