// Listeners receive each change, in order, on the callback queue.

import ByteStore
import FirebaseAuth
import Foundation
import Testing

@Suite struct ListenerTests {
  private let test: TestApp

  init() throws { test = try TestApp() }

  private func identity(_ id: String) -> AuthIdentity { AuthIdentity(uid: id) }

  @Test func aListenerReceivesTheCurrentUserAndThenEachChange() async throws {
    let (received, queue) = (ReceivedUsers(), test.queue)
    try test.auth.signIn(as: identity("ada"))
    let auth = test.auth
    auth.addStateDidChangeListener { @Sendable sender, user in
      dispatchPrecondition(condition: .onQueue(queue))
      #expect(sender === auth)
      received.add(user)
    }
    try auth.signOut()
    try auth.signIn(as: identity("bob"))
    try auth.signIn(as: identity("ada"))
    await test.drain()
    #expect(received.ids == ["ada", nil, "bob", "ada"])
  }

  @MainActor
  @Test(.timeLimit(.minutes(5))) func aListenerOfTheMainActorRunsThereByDefault() async throws {
    let auth = test.auth
    auth.callbackQueue = .main
    var ids: [String?] = []
    try auth.signIn(as: identity("ada"))
    await withCheckedContinuation { done in
      auth.addStateDidChangeListener { _, user in
        ids.append(user?.uid)
        if user == nil { done.resume() }
      }
      do { try auth.signOut() } catch { Issue.record(error) }
      #expect(ids == [], "the first call does not come before the registration has returned")
    }
    #expect(ids == ["ada", nil])
  }

  @Test func anotherNameOfTheSameUserIsNoChange() async throws {
    let received = ReceivedUsers()
    try test.auth.signIn(as: identity("ada"))
    test.auth.addStateDidChangeListener { @Sendable _, user in received.add(user) }
    try test.auth.signIn(as: AuthIdentity(uid: "ada", displayName: "Ada"))
    await test.drain()
    #expect(received.ids == ["ada"] && test.auth.currentUser?.displayName == "Ada")
  }

  @Test func listenersAreCalledInTheOrderOfTheirRegistrationAndBeforeTheCompletion() async {
    let calls = Locked<[String]>([])
    for name in ["first", "second", "third"] {
      test.auth.addStateDidChangeListener { @Sendable _, user in
        calls.withLock { $0.append(user == nil ? "\(name) out" : name) }
      }
    }
    let auth = test.auth
    await withCheckedContinuation { done in
      auth.signInAnonymously { @Sendable _, _ in
        calls.withLock { $0.append("completion") }
        done.resume()
      }
    }
    #expect(
      calls.withLock { $0 }
        == ["first out", "second out", "third out", "first", "second", "third", "completion"])
  }

  @Test func callsDoNotOverlapOnAConcurrentQueue() async throws {
    test.auth.callbackQueue = DispatchQueue(label: "dugout.test.concurrent", attributes: .concurrent)
    let (running, received) = (Locked(0), ReceivedUsers())
    for _ in 0..<4 {
      test.auth.addStateDidChangeListener { @Sendable _, user in
        running.withLock { $0 += 1 }
        received.add(user)
        #expect(running.withLock { $0 } == 1)
        running.withLock { $0 -= 1 }
      }
    }
    for _ in 0..<20 {
      try test.auth.signIn(as: identity("ada"))
      try test.auth.signOut()
    }
    let auth = test.auth
    await withCheckedContinuation { done in auth.signInAnonymously { @Sendable _, _ in done.resume() } }
    #expect(received.ids.count == 4 * 42)
  }

  @Test func aRemovedListenerIsNotCalled() async throws {
    let received = ReceivedUsers()
    let handle: any AuthStateDidChangeListenerHandle = test.auth.addStateDidChangeListener {
      @Sendable _, user in received.add(user)
    }
    await test.drain()
    // The queue is suspended, so the calls for these changes are enqueued but not made before the removal.
    test.queue.suspend()
    try test.auth.signIn(as: identity("ada"))
    test.auth.removeStateDidChangeListener(handle)
    test.queue.resume()
    test.auth.removeStateDidChangeListener(handle)
    test.auth.removeStateDidChangeListener(NSObject())
    try test.auth.signOut()
    await test.drain()
    #expect(received.ids == [nil])
  }

  @Test func aListenerCanRemoveItselfAndChangeTheUser() async throws {
    let (received, auth) = (ReceivedUsers(), test.auth)
    let handle = Locked<(any AuthStateDidChangeListenerHandle)?>(nil)
    let registered = auth.addStateDidChangeListener { @Sendable auth, user in
      received.add(user)
      guard user?.uid == "ada" else { return }
      if let own = handle.withLock({ $0 }) { auth.removeStateDidChangeListener(own) }
      do { try auth.signOut() } catch { Issue.record(error) }
    }
    handle.withLock { $0 = registered }
    let other = ReceivedUsers()
    auth.addStateDidChangeListener { @Sendable _, user in other.add(user) }
    try auth.signIn(as: identity("ada"))
    await test.drain()
    #expect(received.ids == [nil, "ada"])
    await test.drain()
    #expect(other.ids == [nil, "ada", nil] && auth.currentUser == nil)
  }

  @Test func aRemovedListenerReleasesItsClosure() async {
    final class Screen: Sendable {}
    weak var released: Screen?
    let handle: any NSObjectProtocol
    do {
      let screen = Screen()
      released = screen
      handle = test.auth.addStateDidChangeListener { @Sendable _, _ in withExtendedLifetime(screen) {} }
    }
    test.auth.removeStateDidChangeListener(handle)
    await test.drain()
    #expect(released == nil)
  }

  @Test func threadsThatSignInAndOutLeaveOneOrderOfChanges() async throws {
    let (received, auth) = (ReceivedUsers(), test.auth)
    auth.addStateDidChangeListener { @Sendable _, user in received.add(user) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          for _ in 0..<10 {
            if number.isMultiple(of: 4) {
              try auth.signOut()
            } else if number.isMultiple(of: 2) {
              try await auth.signInAnonymously()
            } else {
              try auth.signIn(as: AuthIdentity(uid: "user\(number)"))
            }
          }
        }
      }
      try await group.waitForAll()
    }
    await test.drain()
    let ids = received.ids
    #expect(zip(ids, ids.dropFirst()).allSatisfy { $0 != $1 }, "a user with the same ID is no change")
    #expect(ids.first == .some(nil) && ids.last == .some(auth.currentUser?.uid))
    let kept = auth.currentUser?.uid
    try test.restart()
    #expect(test.auth.currentUser?.uid == kept, "the file has the last user")
  }
}
