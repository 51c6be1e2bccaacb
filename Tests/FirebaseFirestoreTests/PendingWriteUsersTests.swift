// The pending writes of all users: listed, discarded, exported and imported.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import Testing

@Suite(.timeLimit(.minutes(2))) struct PendingWriteUsersTests {
  private let authority: DocumentStore
  private let settings = FirestoreSettings()

  init() throws {
    authority = try DocumentStore.openInMemory()
    settings.remote = try LoopbackRemote(authority: authority)
    settings.acknowledgement = .local
  }

  /// Returns a database that is offline, for a user.
  private func database(_ user: String?) async throws -> Firestore {
    let firestore = Firestore.memory()
    firestore.settings = settings
    try await firestore.disableNetwork()
    try await firestore.changeUser(user)
    return firestore
  }

  private func visit(_ firestore: Firestore) async throws {
    try await firestore.document("counters/all").setData(["n": FieldValue.increment(Int64(1))], merge: true)
  }

  private var total: StoredValue? {
    get throws { try authority.document(at: DocumentPath(["counters", "all"]))?.fields["n"] }
  }

  @Test func writesAreShownExportedDiscardedAndImportedOnce() async throws {
    let first = try await database("ann")
    try await visit(first)
    try await visit(first)
    try await first.changeUser(nil)
    let users = try await first.pendingWriteUsers()
    #expect(users.map(\.userID) == ["ann"] && users.map(\.pendingCount) == [2])
    let listed = try await first.pendingWrites(of: "ann")
    #expect(listed.map(\.paths) == [["counters/all"], ["counters/all"]] && listed.allSatisfy { !$0.isSent })
    #expect(users.first?.oldest == listed.first?.date)
    #expect(try await first.pendingWrites(of: "bob").isEmpty)
    let data = try await first.exportPendingWrites(of: "ann")
    let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(json["format"] as? String == "dugout-pending-writes" && json["user"] as? String == "ann")
    try await first.discardPendingWrites(of: "ann")
    #expect(try await first.pendingWriteUsers().isEmpty)

    let second = try await database("ann")
    #expect(try await second.importPendingWrites(data) == 2)
    #expect(try await second.importPendingWrites(data) == 0)
    #expect(try await first.importPendingWrites(data) == 2)
    for firestore in [second, first] {
      try await firestore.changeUser("ann")
      try await firestore.enableNetwork()
      try await firestore.waitForPendingWrites()
      #expect(try total == .integer(2))
      #expect(try await firestore.importPendingWrites(data) == 0)
    }
    try await first.terminate()
    try await second.terminate()
  }

  @Test func discardingAnExportKeepsLaterWrites() async throws {
    let firestore = try await database("ann")
    try await visit(firestore)
    try await visit(firestore)
    let export = try await firestore.exportPendingWrites(of: "ann")
    try await visit(firestore)
    try await firestore.changeUser(nil)
    #expect(try await firestore.discardPendingWrites(in: export) == 2)
    #expect(try await firestore.discardPendingWrites(in: export) == 0)
    #expect(try await firestore.pendingWrites(of: "ann").count == 1)
    try await firestore.changeUser("ann")
    try await firestore.enableNetwork()
    try await firestore.waitForPendingWrites()
    #expect(try total == .integer(1))
    await #expect { try await firestore.discardPendingWrites(in: Data("{}".utf8)) } throws: { error in
      (error as NSError).code == FirestoreErrorCode.invalidArgument.rawValue
    }
    try await firestore.terminate()
  }

  @Test func otherDataIsRefused() async throws {
    let firestore = try await database(nil)
    try await visit(firestore)
    var json = String(decoding: try await firestore.exportPendingWrites(of: nil), as: UTF8.self)
    for text in ["", "{}", "[]", json.replacingOccurrences(of: "dugout-", with: "other-")] {
      await #expect { _ = try await firestore.importPendingWrites(Data(text.utf8)) } throws: { error in
        (error as NSError).code == FirestoreErrorCode.invalidArgument.rawValue
      }
    }
    json = json.replacingOccurrences(of: "\"version\":1", with: "\"version\":2")
    await #expect { _ = try await firestore.importPendingWrites(Data(json.utf8)) } throws: { error in
      (error as NSError).code == FirestoreErrorCode.failedPrecondition.rawValue
    }
    try await firestore.terminate()
  }

  @Test func withoutARemoteThereAreNoPendingWrites() async throws {
    let other = try await database(nil)
    try await visit(other)
    let export = try await other.exportPendingWrites(of: nil)
    try await other.terminate()
    settings.remote = nil
    let firestore = Firestore.memory()
    firestore.settings = settings
    #expect(try await firestore.pendingWriteUsers().isEmpty)
    #expect(try await firestore.pendingWrites(of: "ann").isEmpty)
    try await firestore.discardPendingWrites(of: "ann")
    #expect(try await firestore.discardPendingWrites(in: export) == 0)
    await #expect(throws: (any Error).self) { try await firestore.exportPendingWrites(of: nil) }
    await #expect(throws: (any Error).self) { try await firestore.importPendingWrites(Data()) }
    try await firestore.terminate()
  }
}
