// W20: program sizes. Four programs are built in a separate package and stripped, with the standard library
// linked statically:
//
//   - a program that imports Foundation and prints a date
//   - a program that reads and writes through FirebaseFirestore
//   - a program that uses only the engine
//   - a program with an `NSError` and none of our code, as a baseline. `NSError` links all of Foundation, and
//     every program with FirebaseFirestore has errors

import BenchmarkReports
import Foundation

enum ProgramSizes: Workload {
  static let name = "W20"
  static let title = "what the library adds to a program"
  static let runsOnce = true
  static let engines: [any Engine] = [BuiltPrograms()]
  static let goals = [
    Goal(
      title: "bytes that FirebaseFirestore adds to a program", metric: "firestore_adds_bytes",
      measure: .absolute,
      bound: 6_000_000),
    Goal(
      title: "bytes of a program with only the engine", metric: "engine_bytes", measure: .absolute,
      bound: 12_000_000),
    Goal(
      title: "system libraries, relative to an empty program", metric: "system_libraries",
      measure: .absolute,
      bound: 1),
  ]

  /// The smallest document count of a run that measures program sizes. The builds use the installed toolchain
  /// and take minutes, so smaller runs skip them.
  static let documentsMin = 100_000
}

private struct BuiltPrograms: Engine {
  let name = "dugout"

  private static let programs = [
    "empty": "import Foundation\nprint(Date())\n",
    "error": "import Foundation\nprint(NSError(domain: \"ours\", code: 1).code)\n",
    "firestore": """
    import FirebaseFirestore
    let firestore = Firestore.memory()
    firestore.collection("users").document("ada").setData(["name": "Ada"])
    print(try firestore.document("users/ada").read().data() ?? [:])

    """,
    "engine": """
    import DocumentStore
    let store = try DocumentStore.openInMemory()
    try store.commit([.set(try DocumentPath(["users", "ada"]), StoredMap([("name", .string("Ada"))]))])
    print(try store.documents(StructuredQuery(.collection(try CollectionPath(["users"])))).count)

    """,
  ]

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    try write(to: directory)
    try Self.run(
      "swift",
      [
        "build", "-c", "release", "--static-swift-stdlib", "--package-path", directory.path, "-Xlinker", "-s",
        "-Xlinker", "--gc-sections",
      ])
    func program(_ name: String) -> String { directory.appendingPathComponent(".build/release/\(name)").path }
    func size(_ name: String) throws -> Double {
      Double(try FileManager.default.attributesOfItem(atPath: program(name))[.size] as? Int ?? 0)
    }
    for name in ["error", "firestore", "engine"] { try Self.run(program(name), []) }
    let libraries = try Self.libraries(program("firestore")).subtracting(Self.libraries(program("empty")))
    return [
      "empty_bytes": try size("empty"), "firestore_bytes": try size("firestore"),
      "firestore_adds_bytes": try size("firestore") - size("empty"), "engine_bytes": try size("engine"),
      "error_bytes": try size("error"),
      "firestore_adds_to_one_with_an_error_bytes": try size("firestore") - size("error"),
      "system_libraries": Double(libraries.count),
    ]
  }

  private func write(to directory: URL) throws {
    // The benchmark package is three folders above this file's folder. The measured package is one folder
    // further up.
    let repository = (0..<5).reduce(URL(fileURLWithPath: #filePath)) { url, _ in
      url.deletingLastPathComponent()
    }
    let targets = [
      ("empty", ""), ("error", ""), ("firestore", "FirebaseFirestore"), ("engine", "DocumentStore"),
    ].map { name, product in
      let dependencies = product.isEmpty ? "" : ".product(name: \"\(product)\", package: \"Dugout\")"
      return "    .executableTarget(name: \"\(name)\", dependencies: [\(dependencies)]),"
    }
    let manifest = """
      // swift-tools-version: 6.2
      import PackageDescription
      let package = Package(
        name: "Sizes", platforms: [.macOS(.v15)],
        dependencies: [.package(name: "Dugout", path: "\(repository.path)")],
        targets: [
      \(targets.joined(separator: "\n"))
        ])

      """
    try manifest.write(
      to: directory.appendingPathComponent("Package.swift"), atomically: true, encoding: .utf8)
    for (name, source) in Self.programs {
      let folder = directory.appendingPathComponent("Sources/\(name)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try source.write(to: folder.appendingPathComponent("main.swift"), atomically: true, encoding: .utf8)
    }
  }

  private static func libraries(_ program: String) throws -> Set<String> {
    Set(
      try run("ldd", [program]).split(separator: "\n").compactMap {
        $0.split(separator: " ").first.map(String.init)
      })
  }

  @discardableResult
  private static func run(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchmarkFailure("\(program) failed:\n\(text)") }
    return text
  }
}
