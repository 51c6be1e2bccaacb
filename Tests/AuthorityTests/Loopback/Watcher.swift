// Watches one query without a client, and formats the received messages as text.

import Authority
import ByteStore
import DocumentStore
import Harness
import OfflineSync

final class Watcher {
  typealias Event = (time: Int64, event: WatchStreamEvent)

  static let target = TargetID(2)

  private let world: LoopbackWorld
  private let stream: any WatchStream
  private let events: Locked<[Event]>
  /// The last resume token received.
  private(set) var token: [UInt8] = []
  /// The last filter received.
  private(set) var filter: BloomFilter.Parts?

  init(_ world: LoopbackWorld, as user: String? = nil) {
    let events = Locked<[Event]>([])
    let scheduler = world.scheduler
    stream = world.remote.openWatchStream(as: user) { event in
      let time = scheduler.now()
      events.withLock { $0.append((time, event)) }
    }
    self.events = events
    self.world = world
  }

  func watch(
    _ query: StructuredQuery, from token: [UInt8] = [], readTime: SnapshotVersion = .none,
    expectedCount: Int? = nil
  ) {
    stream.watch(
      WatchTarget(
        Self.target, query, resumeToken: token, readTime: readTime, expectedCount: expectedCount))
  }

  func unwatch() { stream.unwatch(Self.target) }

  func close() { stream.close() }

  /// Lets time pass, and returns the new messages with their times.
  func timed(within seconds: Int64 = 1) -> [(time: Int64, text: String)] {
    world.pass(seconds: seconds)
    let news = events.withLock { events in
      defer { events = [] }
      return events
    }
    for case .changed(let change, _) in news.map({ $0.event }) { note(change) }
    return news.map { ($0.time, WatchText.of($0.event)) }
  }

  /// Lets time pass, and returns the new messages.
  func messages() -> [String] { timed().map { $0.text } }

  private func note(_ change: WatchChange) {
    switch change {
    case .target(_, _, let token, _): if !token.isEmpty { self.token = token }
    case .existenceFilter(_, _, let filter): self.filter = filter
    case .document: break
    }
  }
}
