// Databases with a host: which remote they get, and what stops a program without one.

import ByteStore
import FirebaseCore
import FirestoreRemote
import Foundation
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite struct HostTests {
  private static func app(_ change: (FirebaseOptions) -> Void = { _ in }) -> FirebaseApp {
    let name = "host-" + UUID().uuidString
    let options = FirebaseOptions(googleAppID: "1:2:ios:3", gcmSenderID: "")
    options.projectID = "shop"
    change(options)
    FirebaseApp.configure(name: name, options: options)
    guard let app = FirebaseApp.app(name: name) else { preconditionFailure("the app was just made") }
    return app
  }

  @Test func theDefaultHostIsTheProgramItself() {
    let firestore = Firestore.firestore(app: Self.app())
    #expect(firestore.settings.values.clientRemote(of: firestore) == nil)
  }

  @Test func anotherHostHasARemoteForTheProjectOfTheApp() {
    let firestore = Firestore.firestore(app: Self.app(), database: "eu")
    firestore.useEmulator(withHost: "localhost", port: 8080)
    let remote = firestore.settings.values.clientRemote(of: firestore)?.remote
    #expect(remote is FirestoreRemote)
    #expect(remote?.documentsName == "projects/shop/databases/eu/documents")
  }

  @Test(arguments: [
    ("::1", "[::1]:8080"), ("[::1]", "[::1]:8080"), ("10.0.2.2", "10.0.2.2:8080"),
    ("localhost", "localhost:8080"),
  ])
  func anAddressOfIPv6GetsItsBrackets(host: String, expected: String) {
    let firestore = Firestore.firestore(app: Self.app())
    firestore.useEmulator(withHost: host, port: 8080)
    #expect(firestore.settings.host == expected)
  }

  @Test func aRemoteInTheSettingsComesBeforeTheHost() {
    let firestore = Firestore.firestore(app: Self.app())
    let settings = firestore.settings
    settings.host = "localhost:8080"
    let chosen = FirestoreRemote(FirestoreRemoteOptions(project: "other"))
    settings.remote = chosen
    firestore.settings = settings
    let remote = firestore.settings.values.clientRemote(of: firestore)?.remote
    #expect(remote as? FirestoreRemote === chosen)
  }

  @Test func settingsWithTheSameRemoteAreEqual() {
    let remote = FirestoreRemote(FirestoreRemoteOptions(project: "other"))
    func settings(_ remote: any Remote) -> FirestoreSettings {
      let settings = FirestoreSettings()
      settings.remote = remote
      return settings
    }
    #expect(settings(remote) == settings(remote))
    #expect(settings(remote) != settings(FirestoreRemote(FirestoreRemoteOptions(project: "other"))))
    #expect(settings(remote) != FirestoreSettings())
  }

  /// The closure gets the user that the app has signed in, also for the first request.
  @Test func theUserOfTheAppReachesTheCredentials() async throws {
    let app = Self.app()
    let (asked, ask) = AsyncStream<FirestoreTokenRequest>.makeStream()
    var options = FirestoreRemoteOptions(project: "shop")
    options.host = "127.0.0.1:1"
    options.isSSLEnabled = false
    options.credentials = { request in
      ask.yield(request)
      throw RemoteError(.unauthenticated, "no token")
    }
    let firestore = Firestore.firestore(app: app)
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    settings.dispatchQueue = DispatchQueue(label: "dugout.test.host")
    settings.remote = FirestoreRemote(options)
    firestore.settings = settings
    app.user.set("ann")
    firestore.document("rooms/a").setData(["n": 1], completion: nil)
    for await request in asked {
      #expect(request == FirestoreTokenRequest(user: "ann"))
      break
    }
    app.user.set("bob")
    firestore.document("rooms/a").setData(["n": 2], completion: nil)
    for await request in asked where request.user != "ann" {
      #expect(request == FirestoreTokenRequest(user: "bob"))
      break
    }
    try await firestore.terminate()
  }

  @Test func aReaderHasNoHost() throws {
    let settings = FirestoreSettings()
    settings.host = "localhost:8080"
    #expect {
      try Firestore.open(
        at: URL(fileURLWithPath: "/nowhere/at/all"), access: .readOnly, settings: settings)
    } throws: { error in
      (error as NSError).code == FirestoreErrorCode.invalidArgument.rawValue
    }
  }

  @Test func aHostNeedsAProject() async {
    let result = await #expect(processExitsWith: .exitCode(42), observing: [\.standardErrorContent]) {
      ProgrammerError.hook = { message in
        try? FileHandle.standardError.write(contentsOf: Data(message.utf8))
        exit(42)
      }
      let firestore = Firestore.firestore(app: Self.app { $0.projectID = nil })
      firestore.useEmulator(withHost: "localhost", port: 8080)
      _ = try await firestore.document("a/b").getDocument()
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said == "FIROptions.projectID must be set to a valid project ID.")
  }

  /// The writes of one database would otherwise go to another one.
  @Test func aRemoteOfAnotherDatabaseIsRefused() async {
    let result = await #expect(processExitsWith: .exitCode(42), observing: [\.standardErrorContent]) {
      ProgrammerError.hook = { message in
        try? FileHandle.standardError.write(contentsOf: Data(message.utf8))
        exit(42)
      }
      let firestore = Firestore.firestore(app: Self.app(), database: "b")
      let settings = FirestoreSettings()
      settings.cacheSettings = MemoryCacheSettings()
      settings.remote = FirestoreRemote(FirestoreRemoteOptions(project: "shop"))
      firestore.settings = settings
      _ = try await firestore.document("a/b").getDocument()
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(
      said
        == "The remote of this Firestore instance syncs with the database '(default)', and the instance is "
        + "of the database 'b'. Set FirestoreRemoteOptions.database to the latter.")
  }

  @Test func aRemoteOfTheSameDatabaseIsTaken() async throws {
    var options = FirestoreRemoteOptions(project: "shop")
    options.database = "b"
    options.host = "127.0.0.1:1"
    options.isSSLEnabled = false
    let firestore = Firestore.firestore(app: Self.app(), database: "b")
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    settings.remote = FirestoreRemote(options)
    settings.acknowledgement = .local
    firestore.settings = settings
    try await firestore.document("a/b").setData(["n": 1])
    try await firestore.terminate()
  }
}
