// An app with accounts of its own.

import ByteStore
import FirebaseAuth
import Foundation
import Testing

@Suite struct ProviderTests {
  private let test: TestApp

  init() throws { test = try TestApp() }

  /// Accounts that a test controls.
  private final class Accounts: AuthIdentityProvider {
    struct State: Sendable {
      var count = 0
      var failure: AuthErrorCode?
      var ended: [String] = []
      /// The requests that wait until `open`.
      var waiting: [CheckedContinuation<Void, Never>] = []
      var isOpen = true
    }

    let state = Locked(State())

    func anonymousIdentity() async throws -> AuthIdentity {
      await withCheckedContinuation { request in
        let isOpen = state.withLock { state in
          state.count += 1
          if !state.isOpen { state.waiting.append(request) }
          return state.isOpen
        }
        state.wakeAll()
        if isOpen { request.resume() }
      }
      if let failure = state.withLock({ $0.failure }) { throw failure }
      return AuthIdentity(uid: "guest", isAnonymous: true, providerID: "club", displayName: "Guest")
    }

    func endSession(of identity: AuthIdentity) throws {
      if let failure = state.withLock({ $0.failure }) { throw failure }
      state.withLock { $0.ended.append(identity.uid) }
    }

    func open() {
      let waiting = state.withLock { state in
        state.isOpen = true
        defer { state.waiting = [] }
        return state.waiting
      }
      for request in waiting { request.resume() }
    }
  }

  @Test func theProviderGivesTheIdentity() async throws {
    let accounts = Accounts()
    test.auth.provider = accounts
    let user = try await test.auth.signInAnonymously().user
    #expect(user.uid == "guest" && user.displayName == "Guest" && user.providerID == "club")
    try test.restart()
    #expect(test.auth.currentUser?.uid == "guest", "the user is kept without the provider")
    #expect(test.auth.provider == nil)
    test.auth.provider = accounts
    try test.auth.signOut()
    #expect(accounts.state.withLock { $0.ended } == ["guest"])
  }

  @Test func errorsOfTheProviderArePassedOn() async throws {
    let accounts = Accounts()
    test.auth.provider = accounts
    accounts.state.withLock { $0.failure = .networkError }
    await expect(.networkError) { _ = try await test.auth.signInAnonymously() }
    #expect(test.auth.currentUser == nil)
    try test.auth.signIn(as: AuthIdentity(uid: "ada"))
    await expect(.networkError) { try test.auth.signOut() }
    #expect(test.auth.currentUser?.uid == "ada")
    accounts.state.withLock { $0.failure = nil }
    try test.auth.signOut()
    #expect(test.auth.currentUser == nil)
  }

  @Test func callsDuringASignInWaitForItsResult() async throws {
    let (accounts, auth) = (Accounts(), test.auth)
    accounts.state.withLock { $0.isOpen = false }
    auth.provider = accounts
    let results = Locked<[String?]>([])
    await withCheckedContinuation { done in
      for _ in 0..<5 {
        auth.signInAnonymously { @Sendable result, _ in
          let count = results.withLock { results in
            results.append(result?.user.uid)
            return results.count
          }
          if count == 5 { done.resume() }
        }
      }
      accounts.open()
    }
    #expect(results.withLock { $0 } == Array(repeating: "guest", count: 5))
    #expect(accounts.state.withLock { $0.count } == 1)
  }

  @Test func deletingTheAppEndsASignInInProgress() async throws {
    let (accounts, auth, app) = (Accounts(), test.auth, test.app)
    accounts.state.withLock { $0.isOpen = false }
    auth.provider = accounts
    let failed = Locked<[Int]>([])
    await withCheckedContinuation { done in
      auth.signInAnonymously { @Sendable _, error in
        failed.withLock { $0.append((error as NSError?)?.code ?? 0) }
        done.resume()
      }
      app.delete { _ in }
    }
    accounts.open()
    #expect(failed.withLock { $0 } == [AuthErrorCode.operationNotAllowed.rawValue])
    try test.restart()
    #expect(test.auth.currentUser == nil)
  }

  @Test func aProviderWithoutSessionsNeedsNoCode() throws {
    struct Guests: AuthIdentityProvider {
      func anonymousIdentity() async throws -> AuthIdentity { AuthIdentity(uid: "guest") }
    }
    test.auth.provider = Guests()
    try test.auth.signIn(as: AuthIdentity(uid: "ada"))
    try test.auth.signOut()
    #expect(test.auth.currentUser == nil)
  }
}
