// The start of the programs, until the first answer, and their memory then.

#if Server
import Foundation

enum StartRows {
  private static let millisecondsMax = 100.0
  private static let residentMax = 20.0 * 1024

  static func parts(_ peers: ServerPeers, in directory: String) throws -> [RowPart] {
    var commands: [(name: String, command: (_ port: Int) -> [String], isFirestore: Bool)] = []
    let ours = "dugout serve"
    if let dugout = peers.dugout {
      commands.append(
        (
          ours,
          { [dugout, "serve", "\(directory)/\(UUID().uuidString)", "--emulator", "--port", "\($0)"] }, true
        ))
    }
    if let emulator = peers.emulatorCommand {
      commands.append(("emulator", { emulator + ["--port", "\($0)"] }, true))
    }
    if let pocketBase = peers.pocketBase {
      commands.append(
        (
          "PocketBase",
          { [pocketBase, "serve", "--http", "127.0.0.1:\($0)", "--dir", "\(directory)/pocketbase"] }, false
        ))
    }
    guard !commands.isEmpty else { return [] }
    let hasOurs = peers.dugout != nil
    return [
      RowPart(
        title: "start of the program until its first answer",
        subjects: commands.map { name, command, isFirestore in
          RowSubject(name: name, unit: "ms") { try start(command, isFirestore).milliseconds }
        }, goals: hasOurs ? [RowGoal(subject: ours, valueMax: millisecondsMax)] : []),
      RowPart(
        title: "resident memory of the program after its first answer",
        subjects: commands.map { name, command, isFirestore in
          RowSubject(name: name, unit: "KiB") { try start(command, isFirestore).residentBytes / 1024 }
        }, goals: hasOurs ? [RowGoal(subject: ours, valueMax: residentMax)] : []),
    ]
  }

  private static func start(
    _ command: (Int) -> [String], _ isFirestore: Bool
  ) throws -> (milliseconds: Double, residentBytes: Double) {
    let port = try ServerPeers.freePort()
    let start = ContinuousClock.now
    let process = try ServerPeers.launch(command(port))
    defer {
      process.terminate()
      process.waitUntilExit()
    }
    if isFirestore {
      try ServerPeers.waitForAnswer(port, seconds: 90)
    } else {
      try waitForHTTP(port, "/api/health", seconds: 90)
    }
    let time = (ContinuousClock.now - start) / .milliseconds(1)
    return (time, try ServerPeers.residentBytes(process.processIdentifier))
  }

  private static func waitForHTTP(_ port: Int, _ path: String, seconds: Double) throws {
    let end = Date().addingTimeInterval(seconds)
    guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { return }
    while Date() < end {
      if (try? Data(contentsOf: url)) != nil { return }
      Thread.sleep(forTimeInterval: 0.001)
    }
    throw BenchmarkFailure("there is no answer after \(Int(seconds)) s")
  }
}
#endif
