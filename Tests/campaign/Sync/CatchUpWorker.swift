// The client of `campaign catchup`, as a process whose memory belongs to it alone.

#if Server
import Foundation
import Harness
import ServerHarness

enum CatchUpWorker {
  static let word = "catchup-worker"

  /// The command line of the process, as JSON.
  private struct Order: Codable {
    var task: CatchUpTask
    var directory: String
    var port: Int
    var plan: CatchUpPlan
  }

  /// Runs a task in a new process.
  static func run(
    _ task: CatchUpTask, in directory: String, port: Int, of plan: CatchUpPlan
  ) throws -> CatchUpReport {
    let order = Order(task: task, directory: directory, port: port, plan: plan)
    let process = Process()
    let output = Pipe()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [word, String(decoding: try JSONEncoder().encode(order), as: UTF8.self)]
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Violation("the process of the client ends with status \(process.terminationStatus)")
    }
    return try JSONDecoder().decode(CatchUpReport.self, from: data)
  }

  static func main(_ words: [String]) -> Never {
    do {
      let order = try JSONDecoder().decode(Order.self, from: Data((words.first ?? "").utf8))
      var report = try CatchUpClient.run(order.task, in: order.directory, port: order.port, of: order.plan)
      report.peakBytes = PeakMemory.bytes
      FileHandle.standardOutput.write(try JSONEncoder().encode(report))
      exit(0)
    } catch {
      complain("\(word): \(error)")
      exit(1)
    }
  }
}
#endif
