// Attacks a running server, while other clients measure it.
//
//   1. The clients are alone.
//   2. Control: other well-behaved clients, with as many threads as a kind of attack has, and as many threads
//      that only use the processors, as attackers do by sending.
//   3. Second control: clients that ask for many large answers, and read them. Attackers that ask for work
//      are compared with these, and all attackers at once with as many of them.
//   4. Each kind of attack, one after the other, and then all at once. Attackers that take their time work
//      from this step on to the end.
//   5. All attackers are gone. Connections and descriptors return to the base.

#if Server
import DocumentStore
import Foundation
import Harness

/// The attacks on one server.
package struct AbuseRun {
  /// One measurement.
  package struct Phase: Sendable {
    package var name: String
    package var latency: LatencySummary
    package var samples: Int
    /// The largest quotient to the clients alone, and to the clients beside the control.
    package var ratioToAlone = 1.0
    package var ratioToControl = 1.0
    package var refusals: [String: Int] = [:]
    package var connections = 0
    package var residentMegabytes = 0
    /// The share of a core that the server has used.
    package var processorShare = 0.0
  }

  package struct Report: Sendable {
    package var phases: [Phase] = []
    package var failures: [String] = []
    package var baseMegabytes = 0
    package var peakMegabytes = 0
    package var boundMegabytes = 0
    package var baseDescriptors = 0
    package var lastDescriptors = 0
  }

  private static let clients = 4
  private static let threads = 2
  /// The limit of bytes that the server holds for clients, and a quarter more for small ones.
  private static let heldMegabytes = 640
  /// Output that waits, input that waits, and the session of TLS.
  private static let connectionKilobytes = 192
  private static let factorMax = 2.0
  /// Fewer samples say nothing about a 95th percentile.
  private static let samplesMin = 500
  /// Files that a store opens meanwhile.
  private static let fileSlack = 16

  private let target: AbuseTarget
  private let seconds: Double
  private let seed: UInt64
  private let log: (String) -> Void
  private let kinds: [AttackKind]
  private var report = Report()
  private var clients: MeasuredClients
  private var background: AttackThreads?
  private var began = Date()

  /// `kinds` are the kinds of attacks, as far as the server makes them possible.
  package init(
    _ target: AbuseTarget, _ kinds: [AttackKind] = AttackKind.allCases, seconds: Double, seed: UInt64,
    log: @escaping (String) -> Void = { _ in }
  ) throws {
    self.target = target
    self.seconds = seconds
    self.seed = seed
    self.log = log
    self.kinds = kinds.filter { $0.isPossible(isEncrypted: target.isEncrypted) }
    clients = try MeasuredClients(target, count: Self.clients)
  }

  /// The documents of large answers.
  package static func prepare(_ target: AbuseTarget) async throws {
    let client = try target.client()
    defer { client.close() }
    let text = String(repeating: "x", count: 10_000)
    for start in stride(from: 0, to: 200, by: 50) {
      try await client.commit(
        (start..<start + 50).map { number in
          .set(
            FirestoreClient.path(AbuseTarget.bigCollection, "\(number)"), StoredMap([("text", .string(text))])
          )
        })
    }
  }

  package mutating func run() async throws -> Report {
    let fast = kinds.filter { !$0.isSlow && !$0.isControl }
    // The clients alone, the three controls and all kinds at once count as three kinds each.
    let part = max(0.25, seconds * 0.95 / Double(fast.count + 15))
    try await pause(min(1, part))
    report.baseMegabytes = target.residentBytes >> 20
    report.baseDescriptors = target.descriptorCount
    let base = try metrics()
    let alone = try await measure("alone", seconds: 3 * part)
    let control = try await measureControl(seconds: 3 * part)
    let greedy = try await measureGreedy("greedy", threads: Self.threads, seconds: 3 * part)
    let crowd = try await measureGreedy("crowd", threads: fast.count, seconds: 3 * part)
    began = Date()
    background = AttackThreads(kinds.filter(\.isSlow), on: target, threads: 1, seed: seed)
    for (place, kind) in fast.enumerated() {
      try await attack(
        [kind], named: kind.rawValue, seconds: part, place, alone, kind.isWork ? greedy : control)
    }
    try await attack(fast, named: "all", seconds: 3 * part, fast.count, alone, crowd)
    try await finish(base)
    return report
  }

  // MARK: Phases

  private mutating func measureControl(seconds: Double) async throws -> Phase {
    let load = try MeasuredClients(target, count: Self.threads, first: 100, isPaced: false)
    let burn = AttackThreads([.idleBurn], on: target, threads: Self.threads, seed: seed)
    let control = try await measure("control", seconds: seconds) { burn.stop() }
    try await load.finish()
    if let violation = load.violation { fail("control: \(violation)") }
    return control
  }

  /// Clients that ask for as much as attackers do, and read it.
  private mutating func measureGreedy(
    _ name: String, threads: Int, seconds: Double
  ) async throws -> Phase {
    let readers = AttackThreads([.greedyReaders], on: target, threads: threads, seed: seed)
    return try await measure(name, seconds: seconds) { readers.stop() }
  }

  private mutating func attack(
    _ kinds: [AttackKind], named name: String, seconds: Double, _ place: Int, _ alone: Phase, _ control: Phase
  ) async throws {
    let threads = kinds.count > 1 ? 1 : Self.threads
    let attackers = AttackThreads(
      kinds, on: target, threads: threads, seed: SeededRandom.seed(seed, UInt64(place)))
    var phase = try await measure(name, seconds: seconds, isLogged: false) { attackers.stop() }
    phase.connections = attackers.connectionCount
    phase.ratioToAlone = phase.latency.ratio(to: [alone.latency])
    phase.ratioToControl = phase.latency.ratio(to: [control.latency])
    report.phases[report.phases.count - 1] = phase
    log(Self.text(phase))
    judge(phase, kinds, attackers, alone, control)
  }

  private mutating func measure(
    _ name: String, seconds: Double, isLogged: Bool = true, stop: () -> Void = {}
  ) async throws -> Phase {
    let before = AbuseTarget.refusals(try metrics())
    let processor = target.processorSeconds
    _ = clients.takeSamples()
    let start = Date()
    try await pause(seconds)
    let samples = clients.takeSamples()
    let used = (target.processorSeconds - processor) / Date().timeIntervalSince(start)
    stop()
    let after = AbuseTarget.refusals(try metrics())
    var phase = Phase(name: name, latency: samples.summary, samples: samples.count)
    phase.processorShare = used
    phase.residentMegabytes = target.residentBytes >> 20
    phase.refusals = after.compactMapValues { $0 }.filter { $0.value > before[$0.key, default: 0] }
    for reason in phase.refusals.keys { phase.refusals[reason]? -= before[reason, default: 0] }
    report.phases.append(phase)
    if isLogged { log(Self.text(phase)) }
    if let violation = clients.violation { fail("\(name): \(violation)") }
    return phase
  }

  /// Waits, and watches the memory.
  private mutating func pause(_ seconds: Double) async throws {
    let end = Date().addingTimeInterval(seconds)
    repeat {
      try await Task.sleep(for: .milliseconds(20))
      report.peakMegabytes = max(report.peakMegabytes, target.residentBytes >> 20)
    } while Date() < end
  }

  private func metrics() throws -> [String: Int] {
    guard let metrics = target.metrics() else { throw Violation("the admin listener does not answer") }
    return metrics
  }

  static func text(_ phase: Phase) -> String {
    let refusals = phase.refusals.sorted { $0.key < $1.key }.map { "\($0) \($1)" }.joined(separator: ", ")
    func two(_ number: Double) -> String { String((number * 100).rounded() / 100) }
    return
      "\(phase.name): \(phase.latency.text), \(phase.samples) samples, \(two(phase.ratioToAlone)) × alone, "
      + "\(two(phase.ratioToControl)) × control, \(phase.connections) connections, \(phase.residentMegabytes) MB, "
      + "\(two(phase.processorShare)) cores; \(refusals.isEmpty ? "no refusals" : refusals)"
  }

  // MARK: Verdicts

  private mutating func fail(_ text: String) {
    report.failures.append(text)
    log("FAILED: \(text)")
  }

  private mutating func judge(
    _ phase: Phase, _ kinds: [AttackKind], _ attackers: AttackThreads, _ alone: Phase, _ control: Phase
  ) {
    for kind in kinds where !kind.refusals.isEmpty && attackers.roundCount(kind) > 0 {
      if kind.refusals.isDisjoint(with: phase.refusals.keys) {
        fail("\(phase.name): the server has not refused \(kind), by \(kind.refusals.sorted())")
      }
    }
    if kinds.count == 1, attackers.roundCount(kinds[0]) == 0 { log("\(phase.name): no attack was complete") }
    let slow = AttackKind.allCases.filter(\.isSlow)
    var possible = (kinds + slow).reduce(into: Set<String>()) {
      $0.formUnion($1.refusals.union($1.possibleRefusals))
    }
    // Sessions that an earlier attack has left end up to a minute later.
    if self.kinds.contains(.unreadChannels) { possible.insert("channel_timeout") }
    let others = Set(phase.refusals.keys).subtracting(possible)
    if !others.isEmpty { fail("\(phase.name): the server has refused something by \(others.sorted())") }
    let factor = phase.latency.ratio(to: [alone.latency, control.latency])
    if phase.samples >= Self.samplesMin, factor > Self.factorMax {
      fail("\(phase.name): other clients wait \(factor) times as long")
    }
  }

  private mutating func finish(_ base: [String: Int]) async throws {
    let lasted = Date().timeIntervalSince(began)
    background?.stop()
    let refusals = AbuseTarget.refusals(try metrics())
    for kind in kinds where kind.isSlow && lasted > kind.secondsUntilRefusal {
      if kind.refusals.isDisjoint(with: refusals.keys) {
        fail("the server has not refused \(kind), by \(kind.refusals.sorted())")
      }
    }
    try await pause(0.1)
    // Connections linger for two seconds, and the times are looked at once a second.
    let end = Date().addingTimeInterval(8)
    while true {
      let open = try metrics()[AbuseTarget.openConnections, default: 0]
      report.lastDescriptors = target.descriptorCount
      let isBase = open <= base[AbuseTarget.openConnections, default: 0]
      if isBase, report.lastDescriptors <= report.baseDescriptors + Self.fileSlack { break }
      guard Date() < end else {
        fail(
          "\(open) connections and \(report.lastDescriptors) descriptors are left, and there were "
            + "\(base[AbuseTarget.openConnections, default: 0]) and \(report.baseDescriptors)")
        break
      }
      try await pause(0.1)
    }
    try await clients.finish()
    if let violation = clients.violation { fail("at the end: \(violation)") }
    let connections = report.phases.isEmpty ? 0 : kinds.map(\.connectionsMax).reduce(0, +) * Self.threads
    report.boundMegabytes =
      report.baseMegabytes + Self.heldMegabytes + connections * Self.connectionKilobytes / 1024
    if report.peakMegabytes > report.boundMegabytes {
      fail("the server takes \(report.peakMegabytes) MB, and may take \(report.boundMegabytes)")
    }
  }
}
#endif
