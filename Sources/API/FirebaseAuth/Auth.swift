// The users of an app: the current user, and the steps that change it.
//
// Invariants:
// - A step is a sign-in or a sign-out. The lock `steps` is held during a step, so steps have an order.
// - A step first replaces the file. If that fails, nothing else changes.
// - Then three things change under the lock of the state: the user of the app, whom its databases follow; the
//   current user; and the calls of the listeners are enqueued. So a thread that finds a user in `currentUser`
//   writes to the queue of this user, and listeners receive the changes in their order.
// - No code of the app is called under a lock.
// - After the app was deleted, no step succeeds and no listener is called.

import ByteStore
import Dispatch
public import FirebaseCore
public import Foundation

/// The user of an app. The identities of users come from the app: there is no server.
///
/// ```swift
/// FirebaseApp.configure()
/// let handle = Auth.auth().addStateDidChangeListener { _, user in
///   print(user.map { "\($0.uid) is signed in" } ?? "no user is signed in")
/// }
/// if Auth.auth().currentUser == nil { try await Auth.auth().signInAnonymously() }
/// Auth.auth().removeStateDidChangeListener(handle)
/// ```
///
/// The user stays signed in after a restart, until `signOut`. Databases of the app with a remote follow the
/// user, as if `Firestore.changeUser(_:)` had been called: writes that come later belong to the new user, and
/// pending writes of the previous user stay stored until that user returns.
///
/// Completions and listeners run on `callbackQueue`. Any thread may use an instance.
public final class Auth: NSObject, Sendable {
  let owner: FirebaseApp
  private let steps = Locked(())
  private let state = Locked(AuthState())

  init(_ app: FirebaseApp) { owner = app }

  /// The app to which the users belong.
  public var app: FirebaseApp? { owner }

  /// The queue for completions and listeners. The default is the main queue. A program without a main loop
  /// must set another queue and mark its closures `@Sendable`.
  public var callbackQueue: DispatchQueue {
    get { state.withLock { $0.callbackQueue } }
    set { state.withLock { $0.callbackQueue = newValue } }
  }

  /// The accounts of the app. Without a provider, the default, `signInAnonymously` signs in the user whose ID
  /// is kept in the app's directory. The user who is signed in stays so when the provider changes.
  public var provider: (any AuthIdentityProvider)? {
    get { state.withLock { $0.provider } }
    set {
      let previous = state.withLock { state in
        defer { state.provider = state.isEnded ? nil : newValue }
        return state.provider
      }
      // The object of the app is released outside the lock.
      withExtendedLifetime(previous) {}
    }
  }

  // MARK: The current user

  /// The user who is signed in; nil if no user is, after the app was deleted, and while the file that keeps
  /// the user cannot be read.
  public var currentUser: User? {
    restore()
    return state.withLock { $0.user }
  }

  /// Reads the user from the file. If that fails, the next call tries again, and a sign-in reports the error.
  func restore() {
    guard state.withLock({ !$0.isRestored && !$0.isEnded }) else { return }
    steps.withLock { _ in
      guard state.withLock({ !$0.isRestored && !$0.isEnded }), let kept = try? userFile.read() else { return }
      state.withLock { state in
        state.isRestored = true
        if let identity = kept.user { state.change(to: User(identity), of: self) }
      }
    }
  }

  private var userFile: UserFile { UserFile(in: StoreLocation.directory(app: owner)) }

  /// Performs a step. `body` receives the contents of the file and changes them.
  private func step(_ body: (inout UserFile.Contents) -> Void) throws(AuthFailure) -> User? {
    try steps.withLock { _ throws(AuthFailure) in
      guard !state.withLock({ $0.isEnded }) else { throw .appIsNotConfigured(owner.name) }
      let user: User?
      do throws(UserFile.Failure) {
        let before = try userFile.read()
        var contents = before
        body(&contents)
        if contents != before { try userFile.write(contents) }
        user = contents.user.map(User.init)
      } catch {
        throw .file(error)
      }
      state.withLock { state in
        state.isRestored = true
        state.change(to: user, of: self)
      }
      return user
    }
  }

  // MARK: Signing in

  /// Signs in a user without an account, and passes the result to `completion`. If an anonymous user is
  /// signed in, the result is this user. If another user is signed in, the anonymous user replaces that user.
  ///
  /// Without a `provider`, the user has a random ID, which is kept in the app's directory. The ID stays the
  /// same after a sign-out, because pending writes and documents belong to it. With a provider, the provider
  /// returns the identity. Calls during a sign-in wait for its result.
  ///
  /// Fails with `keychainError` if the user cannot be kept, with `operationNotAllowed` if the app was
  /// deleted, and with the error of the provider. Then the current user stays.
  public func signInAnonymously(completion: ((AuthDataResult?, (any Error)?) -> Void)? = nil) {
    beginSignIn(serialQueue.passing { completion?($0, $1) })
  }

  /// Signs in a user without an account. Cancelling the task does not end the sign-in.
  @discardableResult
  nonisolated(nonsending) public func signInAnonymously() async throws -> AuthDataResult {
    try await awaitResult { beginSignIn($0) }
  }

  private enum SignInStart {
    case now(Result<AuthDataResult, any Error>)
    case waiting
    case first(provider: (any AuthIdentityProvider)?)
  }

  private func beginSignIn(_ done: @escaping AuthState.SignIn) {
    restore()
    let start = state.withLock { state -> SignInStart in
      if state.isEnded { return .now(.failure(AuthFailure.appIsNotConfigured(owner.name).error)) }
      if let user = state.user, user.isAnonymous { return .now(.success(AuthDataResult(user))) }
      state.signIns.append(done)
      return state.signIns.count == 1 ? .first(provider: state.provider) : .waiting
    }
    switch start {
    case .now(let result): done(result)
    case .waiting: break
    case .first(provider: nil):
      DispatchQueue.global().async { self.endSignIn(Result { try self.signInWithKeptIdentity() }) }
    case .first(let provider?):
      Task {
        do {
          let identity = try await provider.anonymousIdentity()
          endSignIn(Result { try signIn(as: identity) })
        } catch {
          endSignIn(.failure(error))
        }
      }
    }
  }

  /// Passes the result to all callers that wait for it.
  private func endSignIn(_ result: Result<User, any Error>) {
    let waiting = state.withLock { state in
      defer { state.signIns = [] }
      return state.signIns
    }
    for done in waiting { done(result.map(AuthDataResult.init)) }
  }

  private func signInWithKeptIdentity() throws -> User {
    try signedIn { contents in
      if contents.user?.isAnonymous == true { return }
      let id = contents.anonymousID ?? Self.randomID()
      contents.anonymousID = id
      contents.user = AuthIdentity(uid: id, isAnonymous: true)
    }
  }

  private static func randomID() -> String {
    let characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    return String((0..<28).compactMap { _ in characters.randomElement() })
  }

  /// Signs in a user whom the app has authenticated. When this returns, the user is the current user and is
  /// kept on stable storage.
  ///
  /// An identity with the ID of the anonymous user turns this user into a member, with all documents and
  /// pending writes. The next anonymous user then gets another ID.
  ///
  /// Throws `invalidCredential` if the ID of the identity is invalid or its texts are too long,
  /// `keychainError` if the user cannot be kept, and `operationNotAllowed` if the app was deleted. After an
  /// error, the current user stays.
  @discardableResult
  public func signIn(as identity: AuthIdentity) throws -> User {
    guard UserFile.isValid(identity.uid) else { throw AuthFailure.invalidID.error }
    return try signedIn { contents in
      contents.user = identity
      if contents.anonymousID == identity.uid, !identity.isAnonymous { contents.anonymousID = nil }
    }
  }

  /// Performs a step after which a user is signed in.
  private func signedIn(_ body: (inout UserFile.Contents) -> Void) throws -> User {
    do throws(AuthFailure) {
      guard let user = try step(body) else { throw .invalidID }
      return user
    } catch {
      throw error.error
    }
  }

  // MARK: Signing out

  /// Signs out the current user. Has no effect if no user is signed in. When this returns, `currentUser` is
  /// nil, also after a restart.
  ///
  /// Pending writes of the user stay stored, and are sent when the user signs in again. Throws the error of
  /// the provider, and `keychainError` if the file cannot be written. Then the user stays signed in.
  public func signOut() throws {
    restore()
    let (user, provider) = state.withLock { ($0.user, $0.provider) }
    guard let user else { return }
    try provider?.endSession(of: user.identity)
    do throws(AuthFailure) {
      _ = try step { $0.user = nil }
    } catch {
      throw error.error
    }
  }

  // MARK: Listening

  /// Calls `listener` on `callbackQueue`, by default the main queue: soon after this call with the current
  /// user, and then after each change of the user. A user with the same ID is no change.
  ///
  /// Each change is passed on, in the order of the changes. The last call may therefore be behind
  /// `currentUser`. The listener stays registered until it is removed or the app is deleted.
  @discardableResult
  public func addStateDidChangeListener(
    _ listener: @escaping (Auth, User?) -> Void
  ) -> any AuthStateDidChangeListenerHandle {
    restore()
    let handle = StateListener(listener)
    state.withLock { state in
      if !state.isEnded { state.listeners.append(handle) }
      state.enqueue(handle, of: self)
    }
    return handle
  }

  /// Removes a listener. After this call, a call of the listener that is waiting on the callback queue has no
  /// effect. Has no effect for a listener that was removed.
  public func removeStateDidChangeListener(_ listenerHandle: any NSObjectProtocol) {
    guard let listener = listenerHandle as? StateListener else { return }
    state.withLock { state in state.listeners.removeAll { $0 === listener } }
    listener.remove()
  }

  private var serialQueue: DispatchQueue { state.withLock { $0.serialQueue } }

  // MARK: The end

  /// Ends the instance when its app is deleted. The user on disk stays.
  func end() {
    // Waits for a step in progress.
    let released = steps.withLock { _ in
      state.withLock { state in
        let released = state
        state.end()
        return released
      }
    }
    for listener in released.listeners { listener.remove() }
    for done in released.signIns { done(.failure(AuthFailure.appIsNotConfigured(owner.name).error)) }
  }
}

/// Identifies a registered listener. The type of a variable for it may also be `NSObjectProtocol`.
public typealias AuthStateDidChangeListenerHandle = NSObjectProtocol & Sendable
