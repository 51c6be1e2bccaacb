// Databases with a remote follow the user of their app.

import Authority
import DocumentStore
import FirebaseAuth
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite struct DatabaseUserTests {
  private let test: TestApp
  private let remote: LoopbackRemote

  init() throws {
    test = try TestApp()
    remote = try LoopbackRemote(authority: DocumentStore.openInMemory())
    // A reachable remote would accept the writes, which would then no longer be pending.
    remote.setReachable(false)
  }

  private func client(_ database: String = "(default)") -> Firestore {
    let firestore = Firestore.firestore(app: test.app, database: database)
    let settings = FirestoreSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.callbacks")
    settings.remote = remote
    settings.acknowledgement = .local
    firestore.settings = settings
    return firestore
  }

  private func pending(_ firestore: Firestore) async throws -> [String] {
    try await firestore.pendingWrites().flatMap(\.paths)
  }

  @Test func pendingWritesBelongToTheUserWhoMadeThem() async throws {
    let firestore = client()
    try await firestore.document("rooms/nobody").setData(["n": 1])
    try test.auth.signIn(as: AuthIdentity(uid: "ann"))
    #expect(try await pending(firestore) == [])
    try await firestore.document("rooms/ann").setData(["n": 1])
    #expect(try await pending(firestore) == ["rooms/ann"])
    try test.auth.signIn(as: AuthIdentity(uid: "bob"))
    #expect(try await pending(firestore) == [])
    #expect(try firestore.collection("rooms").read().isEmpty)
    try test.auth.signOut()
    #expect(try await pending(firestore) == ["rooms/nobody"])
    try test.auth.signIn(as: AuthIdentity(uid: "ann"))
    #expect(try await pending(firestore) == ["rooms/ann"], "no pending write is lost")
  }

  @Test func aChangeOfTheUserHasAPlaceAmongTheWrites() async throws {
    let firestore = client()
    let auth = test.auth
    for number in 0..<30 {
      try auth.signIn(as: AuthIdentity(uid: number.isMultiple(of: 2) ? "ann" : "bob"))
      // The write is not awaited, so the next change of the user must not overtake it.
      firestore.document("rooms/\(number)").setData(["n": number]) { _ in }
    }
    try auth.signIn(as: AuthIdentity(uid: "ann"))
    #expect(try await pending(firestore) == (0..<15).map { "rooms/\($0 * 2)" })
    try auth.signIn(as: AuthIdentity(uid: "bob"))
    #expect(try await pending(firestore) == (0..<15).map { "rooms/\($0 * 2 + 1)" })
  }

  @Test func aDatabaseThatIsOpenedLaterStartsWithTheUser() async throws {
    let user = try await test.auth.signInAnonymously().user
    let (first, second) = (client(), client("second"))
    try await first.document("rooms/a").setData(["n": 1])
    try await second.document("rooms/b").setData(["n": 1])
    try test.auth.signOut()
    #expect(try await pending(first) + pending(second) == [])
    try test.restart()
    // The sign-in comes before the first use of the databases.
    #expect(try await test.auth.signInAnonymously().user.uid == user.uid)
    let (third, fourth) = (client(), client("second"))
    #expect(try await pending(third) + pending(fourth) == ["rooms/a", "rooms/b"])
  }

  @Test func theRestoredUserIsTheUserOfTheDatabase() async throws {
    try test.auth.signIn(as: AuthIdentity(uid: "ann"))
    try await client().document("rooms/a").setData(["n": 1])
    try test.restart()
    _ = test.auth
    #expect(try await pending(client()) == ["rooms/a"])
  }

  @Test func anAppWithoutUsersKeepsTheUserOfChangeUser() async throws {
    let firestore = client()
    try await firestore.changeUser("ann")
    try await firestore.document("rooms/a").setData(["n": 1])
    #expect(test.auth.currentUser == nil)
    #expect(try await pending(firestore) == ["rooms/a"])
    try test.auth.signIn(as: AuthIdentity(uid: "bob"))
    #expect(try await pending(firestore) == [])
  }

  @Test func aListenerSeesTheDocumentsOfItsUser() async throws {
    let firestore = client()
    try test.auth.signIn(as: AuthIdentity(uid: "ann"))
    try await firestore.document("rooms/a").setData(["n": 1])
    try test.auth.signOut()
    #expect(try firestore.collection("rooms").read().isEmpty)
    let counts = Counts()
    test.auth.addStateDidChangeListener { @Sendable _, user in
      guard user != nil else { return }
      counts.add((try? firestore.collection("rooms").read().count) ?? -1)
    }
    try test.auth.signIn(as: AuthIdentity(uid: "ann"))
    await test.drain()
    #expect(counts.all == [1])
  }

  @Test func aTerminatedDatabaseNoLongerFollows() async throws {
    let firestore = client()
    try await firestore.document("rooms/a").setData(["n": 1])
    try await firestore.terminate()
    try test.auth.signIn(as: AuthIdentity(uid: "ann"))
    try test.auth.signOut()
    #expect(try await pending(client()) == ["rooms/a"])
  }

  @Test func aDatabaseWithoutARemoteHasOneUser() async throws {
    let firestore = Firestore.firestore(app: test.app)
    try await firestore.document("rooms/a").setData(["n": 1])
    try test.auth.signIn(as: AuthIdentity(uid: "ann"))
    #expect(try firestore.document("rooms/a").read().exists)
  }

  @Test func aDatabaseOpenedByItsLocationHasNoUsers() async throws {
    let firestore = Firestore.memory()
    let auth = Auth.auth(app: firestore.app)
    #expect(auth.currentUser == nil)
    await expect(.operationNotAllowed, saying: "changeUser") {
      try auth.signIn(as: AuthIdentity(uid: "ann"))
    }
    try await firestore.terminate()
  }
}
