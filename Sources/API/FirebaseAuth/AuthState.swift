// The state of an `Auth`, which a lock of the instance protects.

import Dispatch

struct AuthState: Sendable {
  typealias SignIn = @Sendable (Result<AuthDataResult, any Error>) -> Void

  private(set) var user: User?
  /// Whether `user` is known: the file was read, or a step has changed it.
  var isRestored = false
  var isEnded = false
  var provider: (any AuthIdentityProvider)?
  var listeners: [StateListener] = []
  /// The callers that wait for the anonymous sign-in in progress. The first of them has begun it.
  var signIns: [SignIn] = []
  var callbackQueue = DispatchQueue.main {
    didSet { serialQueue = Self.serial(callbackQueue) }
  }
  /// Runs its blocks on `callbackQueue`, one at a time.
  private(set) var serialQueue = DispatchQueue.main

  /// Returns the main queue unchanged: it is serial, and code of the main actor checks that it runs there.
  private static func serial(_ queue: DispatchQueue) -> DispatchQueue {
    guard queue.label != DispatchQueue.main.label else { return queue }
    return DispatchQueue(label: "dugout.auth.callbacks", target: queue)
  }

  /// Changes the user, of the app too, and enqueues the calls of the listeners.
  mutating func change(to user: User?, of auth: Auth) {
    auth.owner.user.set(user?.uid)
    let isOther = self.user?.uid != user?.uid
    self.user = user
    guard isOther else { return }
    for listener in listeners { enqueue(listener, of: auth) }
  }

  /// Enqueues a call of the listener with the current user.
  func enqueue(_ listener: StateListener, of auth: Auth) {
    serialQueue.async { [user] in listener.call(auth, user) }
  }

  /// Ends the instance. The databases of the app keep their user.
  mutating func end() {
    isEnded = true
    (user, provider, listeners, signIns) = (nil, nil, [], [])
  }
}
