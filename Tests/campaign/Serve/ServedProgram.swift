// `dugout serve` as a child process.

import Foundation

/// The program on one directory. Started and ended any number of times, by one thread.
final class ServedProgram {
  /// The file that the program writes when it listens.
  struct Ready: Decodable {
    var port: Int
    var adminPort: Int?
    var pid: Int32
  }

  struct Failure: Error, CustomStringConvertible { let description: String }

  /// The program that was built together with this one, unless an option names another one.
  static func program(_ options: CampaignOptions) -> URL? {
    let standard = Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent("dugout")
    let chosen = options.texts["--program"].map { URL(fileURLWithPath: $0) } ?? standard
    return chosen.flatMap { FileManager.default.isExecutableFile(atPath: $0.path) ? $0 : nil }
  }

  private let program: URL
  private let folder: URL
  private let options: [String]
  private let descriptorsMax: Int?
  private var process: Process?
  /// Chosen by the system at the first start, and kept, so that clients can come again by themselves.
  private var port = 0

  /// `options` are further options of `dugout serve`. `descriptorsMax` limits the files of the process.
  init(program: URL, folder: URL, options: [String] = [], descriptorsMax: Int? = nil) {
    self.program = program
    self.folder = folder
    self.options = options
    self.descriptorsMax = descriptorsMax
  }

  deinit { kill() }

  private var readyFile: URL { folder.appendingPathComponent("ready.json") }
  private var outputFile: URL { folder.appendingPathComponent("output.txt") }
  var directory: URL { folder.appendingPathComponent("data") }

  /// Starts the program, without waiting until it listens.
  func start() throws {
    _ = FileManager.default.createFile(atPath: outputFile.path, contents: nil)
    let output = try FileHandle(forWritingTo: outputFile)
    let process = Process()
    process.executableURL = program
    process.arguments =
      ["serve", directory.path, "--emulator", "--port", "\(port)", "--ready-file", readyFile.path] + options
    if let descriptorsMax {
      // `prlimit` becomes the program, so the process is the same.
      process.executableURL = URL(fileURLWithPath: "/usr/bin/prlimit")
      process.arguments =
        ["--nofile=\(descriptorsMax):\(descriptorsMax)", program.path] + (process.arguments ?? [])
    }
    process.standardOutput = output
    process.standardError = output
    try process.runWithoutBlockedSignals()
    try output.close()
    self.process = process
  }

  /// Waits until the program listens. There is no other sign than its file.
  func waitUntilReady(seconds: Double) throws -> Ready {
    guard let process else { throw Failure(description: "the program is not running") }
    let end = Date().addingTimeInterval(seconds)
    repeat {
      if let ready {
        port = ready.port
        return ready
      }
      guard process.isRunning else {
        throw Failure(description: "the program ended with \(process.terminationStatus): \(printed)")
      }
      Thread.sleep(forTimeInterval: 0.002)
    } while Date() < end
    throw Failure(description: "the program does not listen after \(Int(seconds)) s: \(printed)")
  }

  /// The content of the file of the present process; nil if it does not listen yet.
  var ready: Ready? {
    // The file of an earlier process remains after a kill.
    guard let process, let data = try? Data(contentsOf: readyFile),
      let ready = try? JSONDecoder().decode(Ready.self, from: data),
      ready.pid == process.processIdentifier
    else { return nil }
    return ready
  }

  /// Ends the process at once. Returns false if it had ended before.
  @discardableResult
  func kill() -> Bool {
    guard let process else { return false }
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    self.process = nil
    return process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
  }

  /// Asks the process to end, and waits for it. Throws unless it ends with 0 in time.
  func terminate(seconds: Double) throws {
    guard let process else { return }
    process.terminate()
    let end = Date().addingTimeInterval(seconds)
    while process.isRunning {
      guard Date() < end else {
        kill()
        throw Failure(description: "the program does not end \(Int(seconds)) s after SIGTERM: \(printed)")
      }
      Thread.sleep(forTimeInterval: 0.005)
    }
    self.process = nil
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      throw Failure(
        description: "after SIGTERM the program ends with \(process.terminationStatus): \(printed)")
    }
  }

  /// The end of what the last process has printed, or the description of its crash.
  var printed: String {
    let text = String(decoding: (try? Data(contentsOf: outputFile)) ?? Data(), as: UTF8.self)
    let crash = ["Fatal error", "Program crashed"].compactMap { text.range(of: $0)?.lowerBound }.min()
    return crash.map { String(text[$0...].prefix(6000)) } ?? String(text.suffix(2000))
  }
}
