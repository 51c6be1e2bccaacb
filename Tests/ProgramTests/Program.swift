// Runs the built programs as a user would, and captures their output.

import DocumentStore
import Foundation

struct Program {
  struct Outcome {
    var status: Int32
    var output: String
    var complaint: String
  }

  private let executable: URL

  init(_ name: String) { executable = Self.buildFolder.appendingPathComponent(name) }

  init(path: String) { executable = URL(fileURLWithPath: path) }

  var path: String { executable.path }

  func run(_ arguments: String...) throws -> Outcome { try run(arguments) }

  /// Runs the program with `input` as its standard input, which is empty by default.
  func run(
    _ arguments: [String], input: String? = nil, environment: [String: String] = [:]
  ) throws -> Outcome {
    let process = Process()
    process.executableURL = executable
    process.arguments = arguments
    if !environment.isEmpty {
      process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    }
    let text = Pipe()
    if let input {
      // The input must be smaller than a pipe's capacity, so that writing does not block.
      precondition(input.utf8.count < 60_000)
      process.standardInput = text
      try text.fileHandleForWriting.write(contentsOf: Data(input.utf8))
      try text.fileHandleForWriting.close()
    }
    let output = Pipe()
    // One of the two outputs goes to a file, so that two pipes need not be read at once.
    let complaints = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    _ = FileManager.default.createFile(atPath: complaints.path, contents: nil)
    defer { try? FileManager.default.removeItem(at: complaints) }
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: complaints)
    try process.run()
    let said = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Outcome(
      status: process.terminationStatus, output: String(decoding: said, as: UTF8.self),
      complaint: String(decoding: try Data(contentsOf: complaints), as: UTF8.self))
  }

  /// The folder of this test's executable. The folder contains all built products.
  private static var buildFolder: URL {
    let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
    var folder = URL(fileURLWithPath: bundle ?? CommandLine.arguments[0]).deletingLastPathComponent()
    while folder.path != "/", !FileManager.default.fileExists(atPath: folder.path + "/dugout") {
      folder.deleteLastPathComponent()
    }
    return folder
  }
}

/// The error that `body` throws.
func thrown(_ body: () throws -> Void) -> (any Error)? {
  do { try body() } catch { return error }
  return nil
}

/// A folder that is deleted after the test.
struct TemporaryFolder: ~Copyable {
  let url: URL

  var path: String { url.path }

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  /// Also removes the report of a salvage, which is next to the store.
  deinit {
    for path in [url.path, url.path + ".lost.jsonl"] { try? FileManager.default.removeItem(atPath: path) }
  }
}

extension TemporaryFolder {
  /// Creates a store with the document users/ada, and closes it.
  func makeStore() throws {
    try changeStore { store in
      let tags = StoredValue.array([.string("mathematics"), .integer(1)])
      try store.commit([
        .set(try DocumentPath(["users", "ada"]), StoredMap([("name", .string("Ada")), ("tags", tags)]))
      ])
    }
  }

  func changeStore(_ body: (DocumentStore) throws -> Void) throws { try Self.open(path, body) }

  /// Opens a store in another folder, and closes it.
  static func open(_ path: String, _ body: (DocumentStore) throws -> Void) throws {
    let store = try DocumentStore.open(path)
    try body(store)
    try store.close()
  }
}
