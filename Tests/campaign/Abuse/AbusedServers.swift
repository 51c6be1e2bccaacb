// The servers of the campaign: one without encryption, one with it, and one with few descriptors.

#if Server
import Foundation
import ServerHarness

struct AbusedServers {
  private static let startSeconds = 20.0
  private static let fewDescriptors = 192
  private static let certificates = "Tests/Fixtures/TLS"

  private let program: URL
  private let folder: URL
  private let options: CampaignOptions
  private let kinds: [AttackKind]
  private var result = CampaignResult(run: 0, failed: 0)

  init(program: URL, folder: URL, _ options: CampaignOptions, _ kinds: [AttackKind]) {
    self.program = program
    self.folder = folder
    self.options = options
    self.kinds = kinds
  }

  mutating func run(_ seconds: Double) async throws -> CampaignResult {
    let isEncrypting = FileManager.default.fileExists(atPath: Self.certificates + "/server.pem")
    if !isEncrypting { complain("SKIPPED: the attacks on TLS, because there is no \(Self.certificates)") }
    let kinds = kinds
    let part = seconds * (isEncrypting ? 0.45 : 0.9)
    try await attack("plain") { target, seed, log in
      var run = try AbuseRun(target, kinds, seconds: part, seed: seed, log: log)
      return try await run.run()
    }
    if isEncrypting {
      try await attack("tls", isEncrypted: true) { target, seed, log in
        var run = try AbuseRun(target, kinds, seconds: part, seed: seed, log: log)
        return try await run.run()
      }
    }
    try await attack("descriptors", descriptorsMax: Self.fewDescriptors) { target, seed, log in
      try await DescriptorRun(target, seconds: seconds / 10, seed: seed, log: log).run()
    }
    return result
  }

  private mutating func attack(
    _ name: String, isEncrypted: Bool = false, descriptorsMax: Int? = nil,
    _ body: (AbuseTarget, _ seed: UInt64, _ log: @escaping (String) -> Void) async throws -> AbuseRun.Report
  ) async throws {
    let place = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    var words = ["--admin-port", "0"]
    if isEncrypted {
      words += ["--tls", Self.certificates + "/server.pem", Self.certificates + "/server-key.pem"]
    }
    let server = ServedProgram(
      program: program, folder: place, options: words, descriptorsMax: descriptorsMax)
    try server.start()
    let ready = try server.waitUntilReady(seconds: Self.startSeconds)
    let target = AbuseTarget(
      port: ready.port, adminPort: ready.adminPort ?? 0,
      trustedFile: isEncrypted ? Self.certificates + "/root.pem" : nil, process: ready.pid)
    let options = options
    do {
      try await AbuseRun.prepare(target)
      note(name, try await body(target, options.seed) { text in options.printUnlessJSON("\(name) \(text)") })
      try server.terminate(seconds: Self.startSeconds)
    } catch {
      // An error of a client may be the end of the server.
      fail("\(name): \(error)\n\(server.printed)")
    }
  }

  private mutating func fail(_ text: String) {
    result.failed += 1
    result.firstFailure = result.firstFailure ?? "seed \(options.seed): \(text)"
    complain(text)
  }

  private mutating func note(_ name: String, _ report: AbuseRun.Report) {
    result.run += report.phases.count
    for failure in report.failures { fail("\(name): \(failure)") }
    func add(_ detail: String, _ value: Int) {
      result.details.append((name: "\(name).\(detail)", value: value))
    }
    for phase in report.phases {
      for (kind, time) in zip(LatencySummary.names, phase.latency.times) {
        add("\(phase.name).\(kind).microseconds", Int(time * 1e6))
      }
      add("\(phase.name).percentOfAlone", Int(phase.ratioToAlone * 100))
      add("\(phase.name).percentOfControl", Int(phase.ratioToControl * 100))
      add("\(phase.name).connections", phase.connections)
      for (reason, count) in phase.refusals.sorted(by: { $0.key < $1.key }) {
        add("\(phase.name).refused.\(reason)", count)
      }
    }
    add("megabytesBefore", report.baseMegabytes)
    add("megabytesMax", report.peakMegabytes)
    add("megabytesBound", report.boundMegabytes)
    add("descriptorsBefore", report.baseDescriptors)
    add("descriptorsAfter", report.lastDescriptors)
  }
}
#endif
