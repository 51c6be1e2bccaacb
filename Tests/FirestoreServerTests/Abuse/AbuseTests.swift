// Each kind of attack on a whole server with sockets: what it is refused for, and that others are served.

import ByteStore
import DocumentStore
import Foundation
import Harness
import ServerHarness
import Testing

@testable import FirestoreServer

#if Server && TLS
@Suite(.serialized, .timeLimit(.minutes(2))) struct AbuseTests {
  private static let certificates = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Fixtures/TLS").path
  /// Those that take more than ten seconds, or hundreds of megabytes, are for the campaign.
  private static let kinds = AttackKind.allCases.filter {
    !$0.isSlow && !$0.isControl && $0 != .heldMessages && $0 != .unreadMany
      && $0 != .unreadChannels
  }

  private func attacked(
    isEncrypted: Bool, _ body: @escaping @Sendable (AbuseTarget) async throws -> Void
  ) async throws {
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    configuration.port = 0
    configuration.adminPort = 0
    if isEncrypted {
      configuration.tls = TLSFiles(
        certificate: Self.certificates + "/server.pem", key: Self.certificates + "/server-key.pem")
    }
    let store = try DocumentStore.openInMemory()
    let server = try FirestoreServer(
      store: store, database: "projects/demo-abuse/databases/(default)", configuration: configuration)
    let (addresses, continuation) = AsyncStream.makeStream(of: ServerAddresses.self)
    let running = Task { try await server.run { continuation.yield($0) } }
    var iterator = addresses.makeAsyncIterator()
    let ready = try #require(await iterator.next())
    let target = AbuseTarget(
      port: ready.port, adminPort: try #require(ready.adminPort),
      trustedFile: isEncrypted ? Self.certificates + "/root.pem" : nil, process: getpid())
    do { try await body(target) } catch {
      running.cancel()
      throw error
    }
    running.cancel()
    try await running.value
  }

  @Test(arguments: [false, true]) func attacksAreRefusedForTheirReasonAndOthersAreServed(isEncrypted: Bool)
    async throws
  {
    try await attacked(isEncrypted: isEncrypted) { target in
      try await AbuseRun.prepare(target)
      let clients = try MeasuredClients(target, count: 1)
      let faults = await Self.attackOnThread(target, isEncrypted: isEncrypted, beside: clients)
      #expect(faults == [])
      try await clients.finish()
      #expect(clients.violation == nil)
      #expect(clients.takeSamples().count > 0)
    }
  }

  /// Makes each attack, and returns the faults of the server. Attacks block, so they have a thread of their
  /// own. They would also wait for the threads of tasks, which other tests use.
  private static func attackOnThread(
    _ target: AbuseTarget, isEncrypted: Bool, beside clients: MeasuredClients
  ) async -> [String] {
    await withCheckedContinuation { continuation in
      Foundation.Thread.detachNewThread {
        let possible = kinds.filter { $0.isPossible(isEncrypted: isEncrypted) }
        continuation.resume(returning: possible.flatMap { attack($0, target, beside: clients) })
      }
    }
  }

  private static func attack(
    _ kind: AttackKind, _ target: AbuseTarget, beside clients: MeasuredClients
  ) -> [String] {
    guard let metrics = target.metrics() else { return ["\(kind): no metrics"] }
    let before = AbuseTarget.refusals(metrics)
    var grown: Set<String> = []
    // Some attacks choose their way at random, and a busy machine may end one before it is refused.
    for seed in 0..<10 as Range<UInt64> {
      AttackThreads.attackOnce(kind, on: target, seed: seed)
      guard seed >= 2 else { continue }
      guard let metrics = target.metrics() else { return ["\(kind): no metrics"] }
      let after = AbuseTarget.refusals(metrics)
      grown = Set(after.filter { $0.value > before[$0.key, default: 0] }.keys)
      if kind.refusals.isEmpty || !kind.refusals.isDisjoint(with: grown) { break }
    }
    var faults: [String] = []
    if !kind.refusals.isEmpty, kind.refusals.isDisjoint(with: grown) {
      faults.append("\(kind): not refused, but \(grown)")
    }
    let others = grown.subtracting(kind.refusals.union(kind.possibleRefusals))
    if !others.isEmpty { faults.append("\(kind): refused by \(others)") }
    if let violation = clients.violation { faults.append("\(kind): \(violation)") }
    return faults
  }
}
#endif
