// The tokens of all users, each fetched once.
//
//   - At most one fetch for a user is in progress. All requests of that time wait for it.
//   - A fetch that takes too long counts as failed, so no request waits for ever.
//   - A refused token is not used again for a minute, or until the app reports a new one. The server may have
//     refused it for a reason that passes, as a clock that is wrong.
//   - A token that arrives after the app has reported a new one is dropped.

package import OfflineSync

/// Tokens of one kind. It is only accessed on its scheduler.
package final class TokenCache: @unchecked Sendable {
  // The conformance is unchecked, because all work runs on the serial scheduler.
  package typealias Answer = Result<FirestoreToken?, RemoteError>

  private struct Fetch {
    let number: Int
    var waiting: [(Answer) -> Void]
    var cancel: (@Sendable () -> Void)?
  }

  private struct Entry {
    /// The token in use: nil if it has to be fetched, and a nil inside if there is none.
    var token: FirestoreToken??
    var refused: FirestoreToken?
    /// The number of the last refusal.
    var refusal = 0
    /// Whether the refused token may have been refused for another reason, so that it may come again.
    var mayRepeat = false
    var fetch: Fetch?
  }

  private static let refusalTime: Int64 = 60_000_000

  private let scheduler: any SyncScheduler
  private let fetch: TokenFetch?
  private let timeLimit: Int64
  private var entries: [String?: Entry] = [:]
  private var lastNumber = 0

  /// Creates a cache. Without `fetch`, there are no tokens. `timeLimit` is in microseconds.
  package init(_ scheduler: any SyncScheduler, _ fetch: TokenFetch?, timeLimit: Int64) {
    self.scheduler = scheduler
    self.fetch = fetch
    self.timeLimit = timeLimit
  }

  deinit { for entry in entries.values { entry.fetch?.cancel?() } }

  /// Calls `done` with the token of a user, within this call or later.
  package func token(for user: String?, _ done: @escaping (Answer) -> Void) {
    guard fetch != nil else { return done(.success(nil)) }
    if let token = entries[user]?.token { return done(.success(token)) }
    if entries[user]?.fetch != nil {
      entries[user]?.fetch?.waiting.append(done)
      return
    }
    begin(for: user, [done])
  }

  /// Whether `token(for:_:)` would answer with this token at once.
  package func isInUse(_ token: FirestoreToken?, of user: String?) -> Bool {
    fetch == nil || entries[user]?.token == .some(token)
  }

  /// Drops a token that the server has refused, unless there is a newer one. With `mayRepeat`, the reason may
  /// have been another one, so the token may come again.
  package func refuse(_ token: FirestoreToken, of user: String?, mayRepeat: Bool) {
    guard case .some(.some(token)) = entries[user]?.token else { return }
    entries[user]?.token = nil
    entries[user]?.refused = token
    entries[user]?.mayRepeat = mayRepeat
    lastNumber += 1
    let number = lastNumber
    entries[user]?.refusal = number
    scheduler.run(after: Self.refusalTime) { [weak self] in
      guard let self, entries[user]?.refusal == number else { return }
      entries[user]?.refused = nil
    }
  }

  /// Drops the token of a user, because the app has another one.
  package func renew(for user: String?) {
    entries[user]?.token = nil
    entries[user]?.refused = nil
    guard let old = entries[user]?.fetch else { return }
    old.cancel?()
    begin(for: user, old.waiting)
  }

  // MARK: Fetches

  private func begin(for user: String?, _ waiting: [(Answer) -> Void]) {
    guard let fetch else { return }
    lastNumber += 1
    let number = lastNumber
    entries[user, default: Entry()].fetch = Fetch(number: number, waiting: waiting)
    let request = FirestoreTokenRequest(user: user, refused: entries[user]?.refused)
    let cancel = fetch(request) { [weak self, scheduler] result in
      scheduler.run { [weak self] in self?.end(number, of: user, with: result.mapError(Self.failure)) }
    }
    entries[user]?.fetch?.cancel = cancel
    scheduler.run(after: timeLimit) { [weak self] in
      self?.end(
        number, of: user, with: .failure(RemoteError(.unavailable, "The credentials have not answered.")))
    }
  }

  private func end(_ number: Int, of user: String?, with answer: Answer) {
    guard var entry = entries[user], let fetch = entry.fetch, fetch.number == number else { return }
    entry.fetch = nil
    let checked = answer.flatMap { token in Answer { () throws(RemoteError) in try check(token, entry) } }
    if case .success(let token) = checked { entry.token = .some(token) }
    entries[user] = entry
    if case .failure = answer { fetch.cancel?() }
    for done in fetch.waiting { done(checked) }
  }

  private func check(_ token: FirestoreToken?, _ entry: Entry) throws(RemoteError) -> FirestoreToken? {
    try token?.check()
    guard let token, token == entry.refused, !entry.mayRepeat else { return token }
    throw RemoteError(.unauthenticated, "The credentials gave a token again that the server has refused.")
  }

  private static func failure(_ error: any Error) -> RemoteError {
    if let error = error as? RemoteError { return error }
    return RemoteError(.unauthenticated, "The credentials have failed: \(error)")
  }
}
