// Signing in and out, and the user that is kept across restarts.

import FirebaseAuth
import FirebaseCore
import Foundation
import Testing

@Suite struct SignInTests {
  private let test: TestApp

  init() throws { test = try TestApp() }

  private let ada = AuthIdentity(
    uid: "ada", providerID: "club", displayName: "Ada Lovelace", email: "ada@example.org",
    photoURL: URL(string: "https://example.org/ada/1.png"))

  @Test func thereIsNoUserAtFirst() {
    #expect(test.auth.currentUser == nil)
    #expect(test.auth.app === test.app)
    #expect(!FileManager.default.fileExists(atPath: test.folder.path))
  }

  @Test func theCallbackQueueIsTheMainQueueByDefault() throws {
    let options = FirebaseOptions(directory: test.folder)
    FirebaseApp.configure(name: "main-\(test.folder.lastPathComponent)", options: options)
    let app = try #require(FirebaseApp.app(name: "main-\(test.folder.lastPathComponent)"))
    #expect(Auth.auth(app: app).callbackQueue.label == DispatchQueue.main.label)
    app.delete { _ in }
  }

  @Test func anAnonymousUserHasARandomID() async throws {
    let user = try await test.auth.signInAnonymously().user
    #expect(user.uid.count == 28 && user.isAnonymous && user.providerID == "Firebase")
    #expect(user.displayName == nil && user.email == nil && user.photoURL == nil)
    #expect(test.auth.currentUser === user)
    let other = try TestApp()
    #expect(try await other.auth.signInAnonymously().user.uid != user.uid)
  }

  @Test func completionsReceiveTheUserOnTheCallbackQueue() async {
    let (auth, queue) = (test.auth, test.queue)
    let uid: String? = await withCheckedContinuation { done in
      auth.signInAnonymously { @Sendable result, error in
        dispatchPrecondition(condition: .onQueue(queue))
        #expect(error == nil)
        done.resume(returning: result?.user.uid)
      }
    }
    #expect(uid != nil && uid == auth.currentUser?.uid)
  }

  @Test func anAnonymousUserStaysTheSame() async throws {
    let user = try await test.auth.signInAnonymously().user
    #expect(try await test.auth.signInAnonymously().user === user)
    try test.auth.signOut()
    #expect(test.auth.currentUser == nil)
    #expect(try await test.auth.signInAnonymously().user.uid == user.uid, "its writes may still be pending")
    try test.auth.signOut()
    try test.restart()
    #expect(try await test.auth.signInAnonymously().user.uid == user.uid)
  }

  @Test func theUserStaysSignedInAfterARestart() throws {
    try test.auth.signIn(as: ada)
    try test.restart()
    let user = try #require(test.auth.currentUser)
    #expect(user.uid == "ada" && !user.isAnonymous && user.providerID == "club")
    #expect(user.displayName == "Ada Lovelace" && user.email == "ada@example.org")
    #expect(user.photoURL == ada.photoURL)
    try test.auth.signOut()
    try test.restart()
    #expect(test.auth.currentUser == nil)
  }

  @Test func aSignInReplacesTheUser() async throws {
    try test.auth.signIn(as: ada)
    try test.auth.signIn(as: AuthIdentity(uid: "bob"))
    #expect(test.auth.currentUser?.uid == "bob" && test.auth.currentUser?.displayName == nil)
    let anonymous = try await test.auth.signInAnonymously().user
    #expect(test.auth.currentUser === anonymous)
    try test.auth.signIn(as: ada)
    #expect(try await test.auth.signInAnonymously().user.uid == anonymous.uid)
  }

  @Test func anAnonymousUserBecomesAMemberWithItsID() async throws {
    let guest = try await test.auth.signInAnonymously().user
    try test.auth.signIn(as: AuthIdentity(uid: guest.uid, displayName: "Ada"))
    #expect(test.auth.currentUser?.isAnonymous == false && test.auth.currentUser?.uid == guest.uid)
    try test.auth.signOut()
    #expect(try await test.auth.signInAnonymously().user.uid != guest.uid, "the ID belongs to a member")
  }

  @Test func aSignOutWithoutAUserHasNoEffect() throws {
    try test.auth.signOut()
    #expect(!FileManager.default.fileExists(atPath: test.file.path))
  }

  @Test(arguments: ["", String(repeating: "é", count: 128)]) func anInvalidIDIsRefused(id: String)
    async throws
  {
    try test.auth.signIn(as: ada)
    await expect(.invalidCredential) { try test.auth.signIn(as: AuthIdentity(uid: id)) }
    #expect(test.auth.currentUser?.uid == "ada")
  }

  @Test func twoAppsHaveTheirOwnUsers() async throws {
    let other = try TestApp()
    try test.auth.signIn(as: ada)
    #expect(other.auth.currentUser == nil && other.auth !== test.auth && test.auth === test.auth)
    let received = ReceivedUsers()
    other.auth.addStateDidChangeListener { @Sendable _, user in received.add(user) }
    try test.auth.signOut()
    try other.auth.signIn(as: AuthIdentity(uid: "bob"))
    await other.drain()
    #expect(received.ids == [nil, "bob"])
  }

  // MARK: Without an app

  @Test func theDefaultInstanceNeedsAnApp() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Auth.auth()
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("Please call FirebaseApp.configure() before using Auth"))
  }

  @Test func deletingTheAppEndsItsInstance() async throws {
    let (auth, app, received) = (test.auth, test.app, ReceivedUsers())
    try auth.signIn(as: ada)
    auth.addStateDidChangeListener { @Sendable _, user in received.add(user) }
    await test.drain()
    await app.delete()
    #expect(auth.currentUser == nil && Auth.auth(app: app).currentUser == nil)
    await expect(.operationNotAllowed, saying: app.name) { try auth.signIn(as: ada) }
    await expect(.operationNotAllowed) { _ = try await auth.signInAnonymously() }
    try auth.signOut()
    await test.drain()
    #expect(received.ids == ["ada"])
    try test.restart()
    #expect(test.auth !== auth && test.auth.currentUser?.uid == "ada", "the deletion is no sign-out")
  }

  @Test func errorsAreMatchedByCode() async throws {
    do {
      try test.auth.signIn(as: AuthIdentity(uid: ""))
    } catch AuthErrorCode.keychainError {
      Issue.record("The code differs.")
    } catch AuthErrorCode.invalidCredential {
    }
    let error: any Error = NSError(domain: AuthErrors.domain, code: 17020)
    #expect(error as? AuthErrorCode == .networkError)
    #expect(NSError(domain: "other", code: 17020) as (any Error) as? AuthErrorCode == nil)
    let thrown = AuthErrorCode.userDisabled as NSError
    #expect(thrown.domain == "FIRAuthErrorDomain" && thrown.code == 17005)
    #expect(AuthErrorCode.Code(rawValue: 17006) == .operationNotAllowed)
  }
}
