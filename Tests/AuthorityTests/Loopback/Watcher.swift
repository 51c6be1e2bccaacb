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
    return news.map { ($0.time, Self.text($0.event)) }
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

  // MARK: Text

  private static func text(_ event: WatchStreamEvent) -> String {
    switch event {
    case .opened: return "opened"
    case .closed(let error): return "closed \(text(error))"
    case .changed(let change, let version):
      let isSnapshot = version != .none
      switch change {
      case .target(.noChange, [], _, nil) where isSnapshot: return "snapshot"
      case .target(let state, let ids, _, let cause):
        return "\(state) \(text(ids))\(cause == nil ? "" : " \(text(cause))")"
      case .document(let path, let document, let updated, let removed):
        let ways = [("in", updated), ("out", removed)].filter { !$0.1.isEmpty }
        return "\(path)\(text(document))" + ways.map { " \($0.0) \(text($0.1))" }.joined()
      case .existenceFilter(let id, let count, let filter):
        return "filter \(id) of \(count)\(filter == nil ? "" : " with names")"
      }
    }
  }

  private static func text(_ ids: [TargetID]) -> String { ids.map(\.description).joined(separator: ",") }

  private static func text(_ error: RemoteError?) -> String { error.map { "\($0.code)" } ?? "well" }

  private static func text(_ document: RemoteDocument?) -> String {
    guard let document else { return "" }
    if case .integer(let number)? = document.fields?["n"] { return "=\(number)" }
    return document.fields == nil ? " gone" : "=none"
  }
}
