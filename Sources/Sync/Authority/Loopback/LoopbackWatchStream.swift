// The connection of a client's watch stream to its loopback authority.

internal import DocumentStore
internal import OfflineSync

final class LoopbackWatchStream: WatchStream, @unchecked Sendable {
  // The conformance is unchecked, because the stream is only accessed on the scheduler of the remote.
  private let remote: LoopbackRemote
  private let user: String?
  private let handler: @Sendable (WatchStreamEvent) -> Void
  private var number: Int?
  private var session: WatchSession?
  private var up: LoopbackLine<Request>?
  private var down: LoopbackLine<WatchStreamEvent>?
  private(set) var isClosed = false

  private enum Request: Sendable, CustomStringConvertible {
    case watch(WatchTarget)
    case unwatch(TargetID)

    var description: String {
      switch self {
      case .watch(let target): "watch \(target.id) \(target.query.canonicalID)"
      case .unwatch(let id): "unwatch \(id)"
      }
    }
  }

  init(_ remote: LoopbackRemote, _ user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void) {
    self.remote = remote
    self.user = user
    self.handler = handler
  }

  // MARK: The client's side

  func watch(_ target: WatchTarget) { ask(.watch(target)) }

  func unwatch(_ id: TargetID) { ask(.unwatch(id)) }

  func close() { remote.scheduler.run { [self] in end() } }

  private func ask(_ request: Request) {
    remote.scheduler.run { [self] in
      guard !isClosed else { return }
      if case .isLost = remote.nextDelivery() {
        remote.note("loses: \(request)")
        return breakConnection()
      }
      let latency = remote.latency()
      remote.note("sends: \(request), \(latency) µs")
      up?.send(request, after: latency)
    }
  }

  // MARK: On the scheduler

  func start(_ number: Int, _ authority: Authority) {
    self.number = number
    let session = authority.openWatchSession(
      as: user, documentsName: LoopbackRemote.name,
      enqueue: { [scheduler = remote.scheduler] block in scheduler.run(block) },
      send: { [weak self] change, version in self?.deliver(change, version) },
      ended: { [weak self] error in self?.breakConnection(error) })
    authority.tellTime(to: session)
    self.session = session
    up = LoopbackLine(remote.scheduler) { [weak self] in self?.take($0) }
    down = LoopbackLine(remote.scheduler, handler)
    down?.send(.opened, after: remote.latency())
  }

  func refuse() {
    isClosed = true
    let (handler, error) = (handler, LoopbackRemote.unreachable)
    let latency = remote.latency()
    remote.note("cannot connect, \(latency) µs")
    remote.scheduler.run(after: latency) { handler(.closed(error)) }
  }

  /// Closes the stream with an error; all messages in transit are lost.
  func breakConnection(_ error: RemoteError = LoopbackRemote.unreachable) {
    guard !isClosed else { return }
    end()
    let handler = handler
    let latency = remote.latency()
    remote.note("loses its connection for listeners, \(latency) µs")
    remote.scheduler.run(after: latency) { handler(.closed(error)) }
  }

  private func end() {
    isClosed = true
    up?.close()
    down?.close()
    session?.close()
    session = nil
    if let number { remote.forgetWatch(number) }
  }

  private func take(_ request: Request) {
    switch request {
    case .watch(let target): session?.watch(target)
    case .unwatch(let id): session?.unwatch(id)
    }
  }

  private func deliver(_ change: WatchChange, _ version: SnapshotVersion) {
    guard !isClosed else { return }
    let event = WatchStreamEvent.changed(change, version)
    let isDocument = Self.isDocument(event)
    switch remote.nextDelivery() {
    case .isLost:
      remote.note("does not get: \(Self.text(change))")
      // The break is deferred, because the session is in the middle of an operation.
      remote.scheduler.run { [weak self] in self?.breakConnection() }
      down?.close()
    case .isDuplicated where isDocument:
      send(event, isDocument)
      send(event, isDocument)
    case .arrives, .isDuplicated: send(event, isDocument)
    }
  }

  private func send(_ event: WatchStreamEvent, _ isDocument: Bool) {
    let latency = remote.latency()
    let place = isDocument ? remote.overtakingMax() : 0
    if case .changed(let change, _) = event {
      remote.note("is sent: \(Self.text(change)), \(latency) µs, \(place) places forward")
    }
    down?.send(event, after: latency, isDocument ? { Self.canPass(event, $0) } : nil, place: place)
  }

  /// A description of a message that does not depend on anything but its content.
  private static func text(_ change: WatchChange) -> String {
    switch change {
    case .document(let path, let document, let updated, let removed):
      "\(path) \(document?.fields == nil ? "absent" : "present") in \(updated), not in \(removed)"
    case .target(let state, let ids, _, _): "targets \(ids) \(state)"
    case .existenceFilter(let id, let count, _): "target \(id) has \(count) documents"
    }
  }

  private static func isDocument(_ event: WatchStreamEvent) -> Bool {
    if case .changed(.document, _) = event { true } else { false }
  }

  /// Document changes of one snapshot have no order among each other.
  private static func canPass(_ event: WatchStreamEvent, _ other: WatchStreamEvent) -> Bool {
    guard case .changed(.document(let path, _, _, _), _) = event,
      case .changed(.document(let before, _, _, _), _) = other
    else { return false }
    return path != before
  }
}
