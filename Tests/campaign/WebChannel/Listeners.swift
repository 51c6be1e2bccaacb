// Thousands of listeners of `dugout serve`, with writes and reconnects, while its resources are watched.

import Foundation

#if Server
import ServerHarness
#endif

enum Listeners: Campaign {
  static let name = "listeners"
  static let summary =
    "keeps thousands of listeners at `dugout serve`, and watches its memory and its descriptors"
  static let amount = (option: "--minutes", standard: Optional(1))
  static let moreOptions = [(option: "--listeners", standard: 2000), (option: "--rate", standard: 50)]
  static let textOptions = ["--program"]
  /// Runs that are long enough for a verdict on the memory begin with a store that is not new.
  private static let agedSeconds = 300.0
  private static let agingCommits = 100_000

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    #if Server
    guard let program = ServedProgram.program(options) else {
      complain("SKIPPED: there are no listeners, because there is no program `dugout` (--program PATH)")
      return CampaignResult(run: 0, failed: 0)
    }
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-listeners-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = ServedProgram(program: program, folder: folder, options: ["--admin-port", "0"])
    try server.start()
    let ready = try server.waitUntilReady(seconds: 20)
    let target = AbuseTarget(port: ready.port, adminPort: ready.adminPort ?? 0, process: ready.pid)
    let report = try await ListenerRun.run(target, load(options)) { sample in
      if isPrinted(sample) { options.printUnlessJSON(sample.text) }
    }
    var result = self.result(report)
    do { try server.terminate(seconds: 30) } catch {
      result.failed += 1
      result.firstFailure = result.firstFailure ?? "\(error)"
    }
    return result
    #else
    complain("SKIPPED: there are no listeners, because this program was built without --traits Server,TLS")
    return CampaignResult(run: 0, failed: 0)
    #endif
  }

  #if Server
  private static func load(_ options: CampaignOptions) -> ListenerOptions {
    var load = ListenerOptions()
    let listeners = max(2, options.more["--listeners"] ?? 0)
    load.seconds = 60 * Double(options.amount ?? 30)
    if load.seconds >= agedSeconds { load.agingCommits = agingCommits }
    load.channels = listeners / 2
    load.streams = listeners - listeners / 2
    load.commitsPerSecond = Double(max(1, options.more["--rate"] ?? 0))
    load.seed = options.seed
    return load
  }

  /// Whether the sample is the first one of a minute.
  private static func isPrinted(_ sample: ListenerSample) -> Bool {
    sample.seconds.truncatingRemainder(dividingBy: 60) < ListenerOptions().sampleSeconds
  }

  private static func result(_ report: ListenerRun.Report) -> CampaignResult {
    var result = CampaignResult(run: report.samples.count, failed: report.failures.count)
    for failure in report.failures { complain(failure) }
    result.firstFailure = report.failures.first
    for (name, value) in report.base.details.dropFirst() { result.details.append(("base.\(name)", value)) }
    for (name, value) in report.samples.last?.details ?? [] { result.details.append(("last.\(name)", value)) }
    for (name, value) in report.end.details.dropFirst() { result.details.append(("end.\(name)", value)) }
    if let verdict = report.verdict {
      result.details += [
        ("memoryJudged", verdict.hasJudgedMemory ? 1 : 0),
        ("growthKilobytesPerTenMinutes", verdict.growthKilobytesPerTenMinutes),
        ("rangeKilobytes", verdict.rangeKilobytes), ("descriptorRange", verdict.descriptorRange),
      ]
    }
    result.notes.append((name: "curve", text: ListenerSample.table(report.samples)))
    return result
  }
  #endif
}
