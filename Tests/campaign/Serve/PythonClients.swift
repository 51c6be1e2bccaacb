// Google's client library for Python, which writes and listens over all lives of a server (Tests/clients).
//
//   acknowledged before the read ≤ the counter of a client ≤ acknowledged after the read + 1

#if Server
import DocumentStore
import Foundation
import Harness
import ServerHarness

/// Clients in one process of Python. They come again by themselves when the server does.
final class PythonClients {
  private static let clients = 2
  private static let run = "python"

  private let process: Process
  private let output = Pipe()
  private let arguments: [String]
  private let acknowledgedFile: URL

  /// The python that has Google's library, or nil with a message.
  static let python: String? = {
    let names = [ProcessInfo.processInfo.environment["DUGOUT_PYTHON"], "python3"].compactMap { $0 }
    let found = names.first { name in
      let probe = Process()
      probe.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      probe.arguments = [name, "-c", "import google.cloud.firestore"]
      probe.standardError = FileHandle.nullDevice
      guard (try? probe.run()) != nil else { return false }
      probe.waitUntilExit()
      return probe.terminationStatus == 0
    }
    if found == nil || script == nil {
      complain(
        "SKIPPED: the clients of Google's Python library, because it is not installed, or Tests/clients/load.py is "
          + "not below this directory (DUGOUT_PYTHON=PYTHON; pip install google-cloud-firestore)")
    }
    return script == nil ? nil : found
  }()

  private static let script: String? = {
    let path = "Tests/clients/load.py"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  /// Starts the clients. Returns nil if they are not installed.
  init?(port: Int, project: String, folder: URL) throws {
    guard let python = Self.python, let script = Self.script else { return nil }
    acknowledgedFile = folder.appendingPathComponent("python.jsonl")
    arguments = [
      python, script, "--host", "127.0.0.1:\(port)", "--project", project, "--run", Self.run, "--clients",
      "\(Self.clients)", "--acknowledged", acknowledgedFile.path,
    ]
    process = Self.process(arguments + ["--listen"], output)
    try process.runWithoutBlockedSignals()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  private static func process(_ arguments: [String], _ output: Pipe) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    return process
  }

  /// The last line that the clients print.
  private struct Result: Decodable {
    var lostCalls: Int

    enum CodingKeys: String, CodingKey { case lostCalls = "lost_calls" }
  }

  /// Calls that the library has lost: their ends have not come, even long after their deadlines.
  private(set) var lostCalls = 0

  private struct Line: Decodable {
    var client: Int
    var number: Int
  }

  /// The last acknowledged number of each client.
  private var acknowledged: [Int: Int] {
    let data = (try? Data(contentsOf: acknowledgedFile)) ?? Data()
    var numbers: [Int: Int] = [:]
    for line in data.split(separator: UInt8(ascii: "\n")) {
      if let line = try? JSONDecoder().decode(Line.self, from: Data(line)) {
        numbers[line.client] = line.number
      }
    }
    return numbers
  }

  /// Compares the counters with what the clients know, while they go on writing. Returns the number of
  /// acknowledged commits.
  func verify(_ client: FirestoreClient) async throws -> Int {
    let before = acknowledged
    let paths = (0..<Self.clients).map { number in
      FirestoreClient.path("load", Self.run, "counters", String("000\(number)".suffix(4)))
    }
    let counters = try await client.documents(at: paths)
    let after = acknowledged
    for (number, path) in paths.enumerated() {
      guard case .integer(let found) = counters[path]?.fields["number"] ?? .integer(0),
        (before[number, default: 0]...after[number, default: 0] + 1).contains(Int(found))
      else {
        throw Violation(
          "client \(number) of Python has \(before[number, default: 0]) acknowledged commits, and its "
            + "counter is \(counters[path].map { "\($0.fields["number"] ?? .null)" } ?? "absent")")
      }
    }
    return after.values.reduce(0, +)
  }

  /// Ends the clients. Their listener must show what they have written, and all of that must be there.
  func finish() throws {
    process.terminate()
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Violation("the clients of Python fail: \(String(decoding: printed, as: UTF8.self))")
    }
    lostCalls = try JSONDecoder().decode(Result.self, from: printed).lostCalls
    let output = Pipe()
    let check = Self.process(arguments + ["--check"], output)
    try check.run()
    let found = output.fileHandleForReading.readDataToEndOfFile()
    check.waitUntilExit()
    guard check.terminationStatus == 0 else {
      throw Violation(
        "the documents of Python's clients are wrong: \(String(decoding: found, as: UTF8.self))")
    }
  }
}
#endif
