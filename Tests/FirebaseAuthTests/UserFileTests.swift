// The file that keeps the user: what it contains, and what happens if it is damaged.

import ByteStore
import FirebaseCore
import Foundation
import Testing

@testable import FirebaseAuth

@Suite struct UserFileTests {
  private let test: TestApp

  init() throws { test = try TestApp() }

  private func put(_ text: String) throws {
    let folder = test.file.deletingLastPathComponent()
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: test.file)
  }

  private func text() throws -> String { try String(contentsOf: test.file, encoding: .utf8) }

  @Test func theFileIsBesideTheDatabasesOfTheApp() throws {
    let database = StoreLocation.directory(app: test.app, database: "(default)")
    #expect(StoreLocation.directory(app: test.app) + "/(default)" == database)
    try test.auth.signIn(as: AuthIdentity(uid: "ada", email: "ada@example.org"))
    #expect(
      try text()
        == #"{"format":1,"user":{"email":"ada@example.org","isAnonymous":false,"providerID":"Firebase","uid":"ada"}}"#
    )
    let attributes = try FileManager.default.attributesOfItem(atPath: test.file.path)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
  }

  @Test(arguments: [
    "", "{", #"{"format":1"#, #"{"format":"1"}"#, #"{"user":{}}"#, #"{"format":1,"user":{"uid":"ada"}}"#,
    #"{"format":1,"anonymousID":""}"#, #"{"format":1,"anonymousID":7}"#, String(repeating: "x", count: 65536),
  ])
  func aDamagedFileIsReportedAndNotReplaced(contents: String) async throws {
    try put(contents)
    try test.restart()
    #expect(test.auth.currentUser == nil)
    await expect(.keychainError, saying: test.file.path) { _ = try await test.auth.signInAnonymously() }
    await expect(.keychainError, saying: "damaged") { try test.auth.signIn(as: AuthIdentity(uid: "ada")) }
    #expect(try text() == contents)
    try put(#"{"format":1,"user":{"uid":"ada","isAnonymous":false,"providerID":"club"}}"#)
    #expect(test.auth.currentUser?.uid == "ada", "the file is read again")
  }

  @Test func aUserWhoIsTooLargeForTheFileIsRefused() async throws {
    try test.auth.signIn(as: AuthIdentity(uid: "ada"))
    let picture = URL(string: "data:image/png;base64," + String(repeating: "A", count: 100_000))
    await expect(.invalidCredential, saying: "64 KiB") {
      try test.auth.signIn(as: AuthIdentity(uid: "bob", photoURL: picture))
    }
    #expect(test.auth.currentUser?.uid == "ada")
    try test.restart()
    #expect(test.auth.currentUser?.uid == "ada", "the file is still readable")
  }

  @Test func aFileOfALaterReleaseIsReported() async throws {
    try put(#"{"format":2,"user":"ada"}"#)
    await expect(.keychainError, saying: "later release") { _ = try await test.auth.signInAnonymously() }
  }

  @Test func aDirectoryThatCannotBeCreatedIsReported() async throws {
    // A file cannot contain a directory.
    try Data().write(to: test.folder)
    #expect(test.auth.currentUser == nil)
    await expect(.keychainError, saying: test.folder.path) { _ = try await test.auth.signInAnonymously() }
    #expect(test.auth.currentUser == nil)
  }

  @Test func theRestOfAnInterruptedReplacementIsRemoved() async throws {
    let user = try await test.auth.signInAnonymously().user
    let rest = URL(fileURLWithPath: test.file.path + ".new")
    try Data("{".utf8).write(to: rest)
    try test.restart()
    #expect(test.auth.currentUser?.uid == user.uid)
    try test.auth.signOut()
    #expect(!FileManager.default.fileExists(atPath: rest.path))
    #expect(try text() == #"{"anonymousID":"\#(user.uid)","format":1}"#)
  }

  @Test func contentsAreReadBack() throws {
    var platform = Platform.real
    platform.fileSystem = MemoryFileSystem()
    let file = UserFile(in: "/data/app", platform: platform)
    #expect(try file.read() == UserFile.Contents())
    var contents = UserFile.Contents(
      anonymousID: "guest", user: AuthIdentity(uid: "é/\"\n", isAnonymous: true, displayName: "\u{1F986}"))
    try file.write(contents)
    #expect(try file.read() == contents)
    contents.user = nil
    try file.write(contents)
    #expect(try file.read() == contents)
  }
}
