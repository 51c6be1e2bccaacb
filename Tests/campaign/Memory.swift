// Fills a store that has a memory budget, in a process of its own, and measures that process.
//
// The store gets more documents than its budget holds, is queried in every way, and is opened again. Every
// answer must be right, or the typed error of an operation that the budget does not allow. The process must
// never have more resident memory than the budget.

import Foundation
import Harness

enum Memory: Campaign {
  static let name = "memory"
  static let summary =
    "fills a store that has a memory budget, and measures the resident memory of its process"
  static let amount = (option: "--documents", standard: Optional(1_000_000))

  /// The budget that a store with this number of documents must keep, 192 MiB for a million. The part per
  /// document is what cannot be evicted yet.
  static func budgetBytes(documents: Int) -> Int { 64 << 20 + documents * 134 }

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-memory-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let documents = options.amount ?? 1_000_000
    let budget = budgetBytes(documents: documents)
    var result = CampaignResult(run: 0, failed: 0)
    result.details = [("documents", documents), ("budgetBytes", budget)]
    for phase in MemoryWorker.Phase.allCases {
      let outcome = try runWorker(
        phase, folder.appendingPathComponent("store").path, documents: documents, budget: budget,
        seed: options.seed)
      result.run += 1
      options.printUnlessJSON(outcome.lines.map { "\(phase.rawValue): \($0)" }.joined(separator: "\n"))
      result.details.append(("peakBytes.\(phase.rawValue)", outcome.peakBytes ?? 0))
      guard let problem = outcome.problem(budget: budget) else { continue }
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "\(phase.rawValue): \(problem)"
    }
    return result
  }

  private struct Outcome {
    var status: Int32
    var lines: [String]
    var peakBytes: Int?

    func problem(budget: Int) -> String? {
      guard status == 0 else { return lines.last ?? "the process ended with status \(status)" }
      guard let peakBytes else { return "the process did not report its memory" }
      return peakBytes <= budget
        ? nil : "\(peakBytes) bytes of resident memory exceed the budget of \(budget)"
    }
  }

  /// Runs one phase in a new process, whose peak therefore belongs to this phase alone.
  private static func runWorker(
    _ phase: MemoryWorker.Phase, _ path: String, documents: Int, budget: Int, seed: UInt64
  ) throws -> Outcome {
    let process = Process()
    let output = Pipe()
    process.executableURL = Bundle.main.executableURL
    process.arguments = [MemoryWorker.word, phase.rawValue, path, "\(documents)", "\(budget)", "\(seed)"]
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    var lines = text.split(separator: "\n").map(String.init)
    let mark = "peak "
    let peak = lines.last.flatMap { $0.hasPrefix(mark) ? Int($0.dropFirst(mark.count)) : nil }
    if peak != nil { lines.removeLast() }
    return Outcome(status: process.terminationStatus, lines: lines, peakBytes: peak)
  }
}
