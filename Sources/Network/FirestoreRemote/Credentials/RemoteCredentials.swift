// The tokens of a request, and the streams that depend on them.

internal import ByteStore
package import OfflineSync

/// The tokens that a request has.
package struct RequestTokens: Sendable, Equatable {
  /// The token of the user.
  package var user: FirestoreToken?
  /// The token of App Check.
  package var app: FirestoreToken?

  package init(user: FirestoreToken? = nil, app: FirestoreToken? = nil) {
    self.user = user
    self.app = app
  }
}

/// The tokens of users, and those of App Check. Only `observeAll` is usable outside its scheduler.
package final class RemoteCredentials: @unchecked Sendable {
  // The conformance is unchecked, because all other work runs on the serial scheduler.
  private struct Observer {
    /// The user whose token is observed.
    let user: String?
    let changed: () -> Void
  }

  private let users: TokenCache
  private let app: TokenCache
  private var observers: [Int: Observer] = [:]
  private var lastNumber = 0
  /// The observers of all tokens.
  private let handlers = Locked((last: 0, all: [Int: @Sendable () -> Void]()))

  package init(users: TokenCache, app: TokenCache) {
    self.users = users
    self.app = app
  }

  /// Calls `done` with the tokens for requests of a user, within this call or later.
  package func tokens(
    for user: String?, _ done: @escaping (Result<RequestTokens, RemoteError>) -> Void
  ) {
    users.token(for: user) { [weak self] answer in
      switch answer {
      case .failure(let error): done(.failure(error))
      case .success(let token):
        // A request that waits retains the credentials.
        self?.app.token(for: nil) { [weak self] answer in
          guard let self else { return }
          // The token of the user may have been replaced while that of App Check was fetched.
          if case .success = answer, !users.isInUse(token, of: user) { return tokens(for: user, done) }
          done(answer.map { RequestTokens(user: token, app: $0) })
        }
      }
    }
  }

  /// Drops the tokens of a request that the server has answered with UNAUTHENTICATED. If there are two, it is
  /// not known which one the server has refused.
  package func refuse(_ tokens: RequestTokens, of user: String?) {
    if let token = tokens.user { users.refuse(token, of: user, mayRepeat: tokens.app != nil) }
    if let token = tokens.app { app.refuse(token, of: nil, mayRepeat: tokens.user != nil) }
  }

  // MARK: Changes

  /// Notes that the app has another token of a user. Calls the observers of that user.
  package func renewToken(of user: String?) {
    users.renew(for: user)
    notify { $0.user == user }
  }

  /// Notes that the app has another token of App Check. Calls all observers.
  package func renewAppToken() {
    app.renew(for: nil)
    notify { _ in true }
  }

  /// Adds an observer of the tokens of a user, until it is removed by its number.
  package func observe(_ user: String?, _ changed: @escaping () -> Void) -> Int {
    lastNumber += 1
    observers[lastNumber] = Observer(user: user, changed: changed)
    return lastNumber
  }

  package func removeObserver(_ number: Int) { observers[number] = nil }

  /// Calls `handler` after each change, when the observers of the tokens have been called. It is called until
  /// the returned closure is.
  package func observeAll(_ handler: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let number = handlers.withLock { handlers in
      handlers.last += 1
      handlers.all[handlers.last] = handler
      return handlers.last
    }
    return { [weak self] in
      let gone = self?.handlers.withLock { $0.all.removeValue(forKey: number) }
      withExtendedLifetime(gone) {}
    }
  }

  private func notify(_ isConcerned: (Observer) -> Bool) {
    // In the order in which they were added. An observer may remove itself or others.
    for (number, observer) in observers.sorted(by: { $0.key < $1.key })
    where isConcerned(observer) && observers[number] != nil {
      observer.changed()
    }
    for (_, handler) in handlers.withLock({ $0.all }).sorted(by: { $0.key < $1.key }) { handler() }
  }
}
