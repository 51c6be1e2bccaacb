// The threads of attackers.

#if Server
import Foundation
import Harness

/// Attackers of some kinds, each on a thread of its own that repeats its attack. Their threads have the
/// lowest priority: the work of the attackers themselves is none of the server, and would be done by other
/// machines.
package final class AttackThreads {
  private static let lowestPriority: Int32 = 19

  package let kinds: [AttackKind]
  private let counters = AttackCounters()
  private let group = DispatchGroup()

  /// Starts this number of threads for each kind.
  package init(_ kinds: [AttackKind], on target: AbuseTarget, threads: Int, seed: UInt64) {
    self.kinds = kinds
    for (place, kind) in kinds.enumerated() {
      for number in 0..<threads {
        let seed = SeededRandom.seed(seed, UInt64(place), UInt64(number))
        group.enter()
        Thread.detachNewThread { [counters, group] in
          setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.lowestPriority)
          var attack = Attack(target, counters, seed: seed)
          while !attack.isOver {
            attack.perform(kind)
            // An attack that was ended early need not have been refused.
            if !attack.isOver { counters.finished(kind) }
            // A server that refuses connections is not asked without a pause.
            Thread.sleep(forTimeInterval: 0.001)
          }
          group.leave()
        }
      }
    }
  }

  /// Makes one attack, on the thread of the caller, and lets a busy server refuse it.
  package static func attackOnce(_ kind: AttackKind, on target: AbuseTarget, seed: UInt64) {
    var attack = Attack(target, AttackCounters(), seed: seed, refusalSeconds: 1)
    attack.perform(kind)
  }

  /// Ends the attacks, and waits for the threads.
  package func stop() {
    counters.stop()
    group.wait()
  }

  package var connectionCount: Int { counters.connectionCount }

  /// The number of attacks of a kind that have been made completely.
  package func roundCount(_ kind: AttackKind) -> Int { counters.roundCount(kind) }
}

extension Attack {
  mutating func perform(_ kind: AttackKind) {
    switch kind {
    case .pings: pings()
    case .settings: settings()
    case .resets: resets()
    case .brokenRules: brokenRules()
    case .emptyFrames: emptyFrames()
    case .continuations: continuations()
    case .streams: streams()
    case .hugeFields: hugeFields()
    case .hugeMessages: hugeMessages()
    case .heldMessages: heldMessages()
    case .pipelining: pipelining()
    case .connections: connections()
    case .unread: unread(kind.connectionsMax, queries: 20, seconds: 1)
    case .greedyReaders: greedyReaders()
    case .idleBurn: idleBurn()
    case .unreadMany: unread(kind.connectionsMax, queries: 1, seconds: 2)
    case .unreadChannels: unreadChannels(kind.connectionsMax)
    case .garbage: garbage()
    case .garbageFrames: garbageFrames()
    case .garbagePaths: garbagePaths()
    case .adminGarbage: garbage(port: target.adminPort)
    case .deaths: deaths()
    case .halfClosed: halfClosed()
    case .handshakeGarbage: handshakeGarbage()
    case .handshakeDeaths: handshakeDeaths()
    case .handshakes: handshakes()
    case .hugeHello: hugeHello()
    case .plaintext: plaintext()
    case .silence: silence()
    case .slowFields: slowFields()
    case .slowBodies: slowBodies()
    case .slowHandshakes: slowHandshakes()
    case .slowReaders: slowReaders()
    }
  }
}
#endif
