// Attacks a server that may have few descriptors, with more connections than that.

#if Server
import Foundation
import Harness

/// The attack on the descriptors of a server.
package struct DescriptorRun {
  private let target: AbuseTarget
  private let seconds: Double
  private let seed: UInt64
  private let log: (String) -> Void

  package init(
    _ target: AbuseTarget, seconds: Double, seed: UInt64, log: @escaping (String) -> Void = { _ in }
  ) {
    self.target = target
    self.seconds = seconds
    self.seed = seed
    self.log = log
  }

  /// Clients that are connected go on, the admin listener answers, and the store writes. Afterwards new
  /// clients can connect.
  package func run() async throws -> AbuseRun.Report {
    var report = AbuseRun.Report()
    let clients = try MeasuredClients(target, count: 2)
    try await Task.sleep(for: .milliseconds(500))
    report.baseDescriptors = target.descriptorCount
    report.baseMegabytes = target.residentBytes >> 20
    let attackers = AttackThreads([.connections, .deaths], on: target, threads: 2, seed: seed)
    let processor = target.processorSeconds
    _ = clients.takeSamples()
    let start = Date()
    let end = start.addingTimeInterval(max(2, seconds))
    var probes = 0
    while Date() < end {
      try await Task.sleep(for: .milliseconds(50))
      report.peakMegabytes = max(report.peakMegabytes, target.residentBytes >> 20)
      guard target.metrics() == nil else { continue }
      probes += 1
    }
    let samples = clients.takeSamples()
    var phase = AbuseRun.Phase(name: "descriptors", latency: samples.summary, samples: samples.count)
    phase.processorShare = (target.processorSeconds - processor) / Date().timeIntervalSince(start)
    attackers.stop()
    phase.connections = attackers.connectionCount
    phase.refusals = AbuseTarget.refusals(target.metrics() ?? [:])
    report.phases = [phase]
    log(AbuseRun.text(phase))
    if phase.refusals["descriptors", default: 0] == 0 {
      report.failures.append("the server has refused nothing for lack of descriptors")
    }
    if probes > 0 { report.failures.append("the admin listener has not answered \(probes) times") }
    if samples.count == 0 { report.failures.append("clients got no answers") }
    try await clients.finish()
    if let violation = clients.violation { report.failures.append(violation) }
    try await checkEnd(&report)
    return report
  }

  private func checkEnd(_ report: inout AbuseRun.Report) async throws {
    let end = Date().addingTimeInterval(8)
    repeat {
      report.lastDescriptors = target.descriptorCount
      if report.lastDescriptors <= report.baseDescriptors { break }
      try await Task.sleep(for: .milliseconds(100))
    } while Date() < end
    if report.lastDescriptors > report.baseDescriptors {
      report.failures.append(
        "\(report.lastDescriptors) descriptors are left, and there were \(report.baseDescriptors)")
    }
    let late = try MeasuredClients(target, count: 1, first: 50)
    try await Task.sleep(for: .milliseconds(200))
    if late.takeSamples().count == 0 { report.failures.append("a new client gets no answers") }
    try await late.finish()
    if let violation = late.violation { report.failures.append(violation) }
  }
}
#endif
