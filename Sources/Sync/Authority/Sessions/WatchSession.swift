// The other end of one watch stream: its targets, and the messages about them.
//
// Invariants:
//   - `send` is only called in blocks of `enqueue`, so messages have one order.
//   - A snapshot is sent as a whole: changes of documents in targets that were sent before, then the targets
//     whose state is complete for the first time, and finally `noChange` for all targets, with a token and a
//     time. These times never decrease.
//   - A target is added in the snapshot that has its whole state. Until then, the tokens of other snapshots
//     would claim too much for it.
//   - The answer to a request waits in `outbox`, and is sent before any later snapshot.
//   - A slow consumer keeps two states of each query, because the stream replaces snapshots that wait.

internal import ByteStore
internal import DocumentStore
package import OfflineSync

/// A watch stream as an authority sees it. Requests come one at a time, from any thread. Ends with `close`,
/// or with its last reference.
package final class WatchSession: AuthoritySession {
  package typealias Enqueue = @Sendable (@escaping @Sendable () -> Void) -> Void

  /// The parameters of `Authority.openWatchSession`.
  struct Consumer: Sendable {
    var user: String?
    var documentsName: String
    var enqueue: Enqueue
    var send: @Sendable (WatchChange, SnapshotVersion) -> Void
    var ended: @Sendable (RemoteError) -> Void
  }

  /// The maximum number of targets of one session. All listeners of a client share its stream, with up to a
  /// hundred targets for documents in limbo. A client takes a refused document for an absent one, so the
  /// limit is far above what a correct client asks for.
  package static let targetsMax = 1000

  let authority: Authority
  let consumer: Consumer
  let state = Locked(State())
  /// The life in which the session was opened. Its tokens are of that life, also if they are sent after the
  /// next life has begun and before the session has ended.
  let lifeNumber: UInt64
  /// Ends with the session, which it does not retain.
  private let following: any Following

  init(_ authority: Authority, _ consumer: Consumer) {
    self.authority = authority
    self.consumer = consumer
    lifeNumber = authority.life.number
    let session = Weak()
    following = authority.backend.follow(enqueue: consumer.enqueue) { snapshot in
      session.value?.deliver(snapshot)
    }
    session.value = self
  }

  deinit { following.close() }

  private final class Weak: @unchecked Sendable {
    // The conformance is unchecked, because the reference is set before the stream has a query, and not
    // again.
    weak var value: WatchSession?
  }

  // MARK: Requests

  /// Starts watching a target. A refusal is sent as a removal with a cause.
  package func watch(_ request: WatchTarget) {
    let refusal: RemoteError?
    var target: WatchedTarget?
    do throws(RemoteError) {
      let token = try check(request)
      target = try state.withLock { state throws(RemoteError) in try state.add(request, token) }
      refusal = nil
    } catch {
      refusal = error
    }
    if let refusal { return refuse(request.id, refusal) }
    guard let target else { return }
    do throws(RemoteError) {
      for (id, query) in zip(target.queryIDs, target.queries) { try following.listen(id, to: query) }
    } catch {
      didFail(target, error)
    }
    // The target may have been removed, and the session closed, before its queries were added.
    guard state.withLock({ $0.has(target) }) else { return remove(target) }
  }

  /// Stops watching a target. Unknown targets are ignored.
  package func unwatch(_ id: TargetID) {
    if let target = state.withLock({ $0.remove(id) }) { end(target) }
  }

  /// Ends a target after its only snapshot, unless a request has ended it before.
  func endAfterSnapshot(_ target: WatchedTarget) {
    if let target = state.withLock({ $0.remove(target) }) { end(target) }
  }

  private func end(_ target: WatchedTarget) {
    remove(target)
    // A request is answered before the removal, because clients count the answers.
    put((target.isSent ? [] : [.target(.added, [target.id])]) + [.target(.removed, [target.id])])
  }

  /// Asks for the present time, even if nothing has changed.
  package func advance() { following.advance() }

  /// Ends the session. No message is sent after the return, except by a block that is running.
  package func close() {
    state.withLock { _ = $0.close() }
    following.close()
  }

  /// Ends the session because of the authority.
  package func end(_ error: RemoteError) {
    guard state.withLock({ $0.close() }) else { return }
    following.close()
    consumer.enqueue { [ended = consumer.ended] in ended(error) }
  }

  // MARK: Refusals

  /// Throws the error with which a request is refused. Returns the meaning of its token.
  private func check(_ request: WatchTarget) throws(RemoteError) -> AuthorityLife.TokenCheck? {
    guard request.id.value >= 0 else {
      throw RemoteError(.invalidArgument, "Target ids are positive: \(request.id).")
    }
    guard request.documents.count <= WatchedTarget.documentsMax else {
      throw RemoteError(
        .invalidArgument, "A target has at most \(WatchedTarget.documentsMax) documents.")
    }
    for query in WatchedTarget.queries(of: request) { try authority.checkRead(query, as: consumer.user) }
    guard !request.resumeToken.isEmpty else { return nil }
    return try authority.check(request.resumeToken)
  }

  /// Answers a request with a removal. A target with the same id ends, too, because the client cannot tell
  /// the two apart.
  package func refuse(_ id: TargetID, _ error: RemoteError) {
    let target = state.withLock { $0.remove(id) }
    if let target { remove(target) }
    // The earlier request is answered first, because clients count the answers.
    let isUnanswered = target?.isSent == false
    put((isUnanswered ? [.target(.added, [id])] : []) + [.target(.removed, [id], cause: error)])
  }

  /// Handles the failure of a target's query. Does nothing if the target has ended before.
  func didFail(_ target: WatchedTarget, _ error: RemoteError) {
    guard !error.code.endsSession else { return end(error) }
    guard let target = state.withLock({ $0.remove(target) }) else { return }
    remove(target)
    put([.target(.removed, [target.id], cause: error)])
  }

  private func remove(_ target: WatchedTarget) { following.remove(target.queryIDs) }

  /// Puts messages into the outbox.
  private func put(_ messages: [WatchChange]) {
    switch state.withLock({ $0.put(messages) }) {
    case .isQueued: break
    case .isNew: consumer.enqueue { [weak self] in self?.flush() }
    case .isFull:
      end(.tooManyAnswers)
    }
  }
}

extension RemoteError.Code {
  /// Whether the error of a query is about the whole database. Any other one, also a damaged record, ends the
  /// target alone, so that the others go on.
  fileprivate var endsSession: Bool { self == .unavailable || self == .cancelled || self == .unauthenticated }
}
