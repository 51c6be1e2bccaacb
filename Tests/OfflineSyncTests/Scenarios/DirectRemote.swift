// A remote of a scenario that passes values between the client and the scenario.

import DocumentStore
import OfflineSync

final class DirectRemote: ScenarioRemote, Remote, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: one thread runs the client and the scenario.
  private struct Watch: WatchStream {
    let remote: DirectRemote

    func watch(_ target: WatchTarget) { remote.watch(target) }
    func unwatch(_ id: TargetID) { remote.unwatch(id) }
    func close() { remote.closeWatch() }
  }

  private struct Write: WriteStream {
    let remote: DirectRemote

    func handshake(_ token: [UInt8], runs: [RunRegistration]) { remote.shakeHands() }
    func write(_ write: RemoteWrite) { remote.take(write) }
    func close() { remote.closeWrite() }
  }

  private let scheduler: any SyncScheduler
  private var watching: (user: String?, handler: @Sendable (WatchStreamEvent) -> Void)?
  private var writing: (user: String?, handler: @Sendable (WriteStreamEvent) -> Void)?
  private var isHandshakeDone = false
  private var sent: [RemoteWrite] = []
  private(set) var targets: [TargetID: WatchTarget] = [:]
  private(set) var watchRequestCount: Int64 = 0
  private(set) var writeRequestCount: Int64 = 0
  /// A call outside the streams, which no scenario expects.
  private var strayCall: String?

  init(_ scheduler: any SyncScheduler) { self.scheduler = scheduler }

  var client: any Remote { self }

  // MARK: The client's side

  let documentsName = "projects/test-project/databases/(default)/documents"

  func openWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    watching = (user, handler)
    targets = [:]
    scheduler.run { handler(.opened) }
    return Watch(remote: self)
  }

  private func watch(_ target: WatchTarget) {
    watchRequestCount += 1
    targets[target.id] = target
  }

  private func unwatch(_ id: TargetID) {
    watchRequestCount += 1
    targets[id] = nil
  }

  private func closeWatch() {
    watching = nil
    targets = [:]
  }

  func openWriteStream(
    as user: String?, _ handler: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    writing = (user, handler)
    scheduler.run { handler(.opened) }
    return Write(remote: self)
  }

  private func shakeHands() {
    writeRequestCount += 1
    isHandshakeDone = true
    guard let handler = writing?.handler else { return }
    scheduler.run { handler(.handshakeComplete(token: Array("token".utf8))) }
  }

  private func take(_ write: RemoteWrite) {
    writeRequestCount += 1
    sent.append(write)
  }

  private func closeWrite() {
    // The end of a stream counts as a request, as scenarios count them.
    if isHandshakeDone { writeRequestCount += 1 }
    forgetWrite()
  }

  private func forgetWrite() {
    writing = nil
    isHandshakeDone = false
    sent = []
  }

  // MARK: The scenario's side

  func send(_ change: WatchChange, at version: SnapshotVersion) throws(ScenarioFailure) {
    guard let handler = watching?.handler else { throw ScenarioFailure("no watch stream is open") }
    if case .target(let state, let ids, _, let cause) = change {
      if state == .removed, cause != nil { try remove(ids) }
      // The version is that of a snapshot of all targets.
      handler(.changed(change, ids.isEmpty ? version : .none))
    } else {
      handler(.changed(change, .none))
    }
  }

  private func remove(_ ids: [TargetID]) throws(ScenarioFailure) {
    for id in ids where targets.removeValue(forKey: id) == nil {
      throw ScenarioFailure("target \(id) is not followed")
    }
  }

  func endWatch(_ error: RemoteError?) throws(ScenarioFailure) {
    guard let handler = watching?.handler else { throw ScenarioFailure("no watch stream is open") }
    closeWatch()
    handler(.closed(error))
  }

  func takeBatch() throws(ScenarioFailure) -> [Mutation] {
    guard !sent.isEmpty else { throw ScenarioFailure("no write was sent") }
    return sent.removeFirst().mutations
  }

  func accept(_ batch: [Mutation], at version: SnapshotVersion) throws(ScenarioFailure) {
    guard let handler = writing?.handler else { throw ScenarioFailure("no write stream is open") }
    handler(.answered(version, batch.map { _ in WriteResult(version: version) }, token: []))
  }

  func endWrite(_ error: RemoteError?) throws(ScenarioFailure) {
    guard let handler = writing?.handler else { throw ScenarioFailure("no write stream is open") }
    forgetWrite()
    handler(.closed(error))
  }

  func check(user: String?) throws(ScenarioFailure) {
    if let strayCall { throw ScenarioFailure("a call outside the streams: \(strayCall)") }
    if let watching, watching.user != user {
      throw ScenarioFailure("the watch stream is one of \(watching.user ?? "no user")")
    }
    if let writing, writing.user != user {
      throw ScenarioFailure("the write stream is one of \(writing.user ?? "no user")")
    }
  }

  // MARK: Calls outside the streams

  func documents(
    at paths: [DocumentPath], as user: String?,
    _ answer: @escaping @Sendable (Result<[RemoteDocument], RemoteError>) -> Void
  ) { strayCall = "documents" }

  func commit(
    _ mutations: [Mutation], as user: String?,
    _ answer: @escaping @Sendable (Result<SnapshotVersion, RemoteError>) -> Void
  ) { strayCall = "commit" }

  func aggregate(
    _ aggregates: [Aggregate], over query: StructuredQuery, as user: String?,
    _ answer: @escaping @Sendable (Result<[StoredValue], RemoteError>) -> Void
  ) { strayCall = "aggregate" }
}
