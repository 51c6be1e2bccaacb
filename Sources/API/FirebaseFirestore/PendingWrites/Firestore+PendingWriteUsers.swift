// The pending writes of all users of a database: listed, discarded, exported and imported.
//
// An export is a JSON object:
//
//   format         "dugout-pending-writes"
//   version        1
//   user           the user; absent for no user
//   writes         for each batch: queue, run, number, paths, and data, the batch in Base64 (BatchCodec)
//   registrations  for each token of a run: run, token in Base64, through

private import DocumentStore
private import FirebaseCore
public import Foundation
private import OfflineSync

/// A user who has pending writes.
public struct PendingWriteUser: Hashable, Sendable {
  /// The user; nil for writes that were issued without a user.
  public let userID: String?
  /// The number of batches of writes that the remote has not answered.
  public let pendingCount: Int
  /// The time when the oldest of them was issued.
  public let oldest: Date
}

extension Firestore {
  /// Returns the users who have pending writes in this database. Without a remote, the list is empty.
  nonisolated(nonsending) public func pendingWriteUsers() async throws -> [PendingWriteUser] {
    guard let driver = try await client().driver() else { return [] }
    return try await driver.read { engine in
      engine.local.usersWithPendingWrites.compactMap { user in
        let batches = engine.local.pendingBatches(of: user)
        guard let first = batches.first else { return nil }
        return PendingWriteUser(
          userID: user, pendingCount: batches.count, oldest: Timestamp(first.time).dateValue())
      }
    }
  }

  /// Returns the pending writes of any user, in the order in which they were issued. Those of other users
  /// than the current one count as not sent. Without a remote, the list is empty.
  nonisolated(nonsending) public func pendingWrites(of userID: String?) async throws -> [PendingWrite] {
    guard let driver = try await client().driver() else { return [] }
    return try await driver.read { engine in
      let sentCount = userID == engine.local.user ? engine.progress.sentCount : 0
      return engine.local.pendingBatches(of: userID).enumerated().map { position, batch in
        PendingWrite(batch.id, batch.paths, time: batch.time, isSent: position < sentCount)
      }
    }
  }

  /// Removes all pending writes of a user, like `cancelPendingWrite(_:)`, also those that were issued after
  /// an export. They can be imported again if they were exported. Without a remote, the call has no effect.
  nonisolated(nonsending) public func discardPendingWrites(of userID: String?) async throws {
    try await client().send(.discardWrites(of: userID))
  }

  /// Removes the pending writes that an export contains, like `cancelPendingWrite(_:)`, and returns the
  /// number of batches. Writes that were issued after the export stay in the outbox. A later write that
  /// depends on a removed one is rejected. The removed writes can be imported again. Without a remote, the
  /// call has no effect. Throws `invalidArgument` if the data is not an export.
  @discardableResult
  nonisolated(nonsending) public func discardPendingWrites(in export: Data) async throws -> Int {
    let exported = try PendingWritesFile.read(export)
    guard let driver = try await client().driver() else { return 0 }
    return try await awaitResult { (done: @escaping Answer<Int>) in
      driver.discardWrites(in: exported) { done($0.mapError(FirestoreErrors.translate)) }
    }
  }

  /// Returns the pending writes of a user as JSON, for `importPendingWrites(_:)` of this or another database.
  /// The writes stay in the outbox. Call `discardPendingWrites(in:)` when the data is stored. The data has
  /// the contents of the writes, which are not encrypted. Throws `failedPrecondition` without a remote.
  ///
  /// ```swift
  /// func signOut(_ user: String, of firestore: Firestore, saving file: URL) async throws {
  ///   try await firestore.changeUser(nil)
  ///   let export = try await firestore.exportPendingWrites(of: user)
  ///   try export.write(to: file)
  ///   try await firestore.discardPendingWrites(in: export)
  /// }
  /// ```
  nonisolated(nonsending) public func exportPendingWrites(of userID: String?) async throws -> Data {
    guard let driver = try await client().driver() else { throw PendingWritesFile.noRemote }
    let exported = try await driver.read { engine throws(DocumentStoreError) in
      (writes: try engine.local.exportWrites(of: userID), batches: engine.local.pendingBatches(of: userID))
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(PendingWritesFile(exported.writes, exported.batches))
  }

  /// Adds exported writes to the outbox of the user who issued them, and returns the number of batches that
  /// are new to this database. A batch that was imported before, or is still pending, is skipped, also after
  /// the remote has answered it. A remote that remembers writes applies each batch once, even if the data was
  /// imported into several databases. Other remotes, such as Google's servers, apply it once for each
  /// database.
  ///
  /// Throws `invalidArgument` if the data is not an export. Throws `failedPrecondition`, and imports nothing,
  /// if batches were issued so long ago that this database has forgotten whether it imported them. It
  /// remembers an imported batch for at least a year. If the disk becomes full, the first batches may have
  /// been imported, and another call imports the rest.
  @discardableResult
  nonisolated(nonsending) public func importPendingWrites(_ data: Data) async throws -> Int {
    guard let driver = try await client().driver() else { throw PendingWritesFile.noRemote }
    let exported = try PendingWritesFile.read(data)
    return try await awaitResult { (done: @escaping Answer<Int>) in
      driver.importWrites(exported) { done($0.mapError(FirestoreErrors.translate)) }
    }
  }
}

extension SyncDriver {
  nonisolated(nonsending) fileprivate func read<Value: Sendable>(
    _ body: @escaping @Sendable (SyncEngine) throws(DocumentStoreError) -> Value
  ) async throws -> Value {
    try await awaitResult { (done: @escaping Answer<Value>) in
      inspect { engine in
        let result = Result { () throws(DocumentStoreError) in try body(engine) }
        done(result.mapError(FirestoreErrors.translate))
      }
    }
  }
}

// MARK: - The file

private struct PendingWritesFile: Codable {
  struct Write: Codable {
    var queue: String
    var run: String
    var number: Int64
    var paths: [String]
    var data: Data
  }

  struct Registration: Codable {
    var run: String
    var token: Data
    var through: Int64
  }

  private static let formatName = "dugout-pending-writes"
  static var noRemote: any Error {
    FirestoreErrors.make(.failedPrecondition, "A database without a remote has no pending writes.")
  }

  var format = PendingWritesFile.formatName
  var version = 1
  var user: String?
  var writes: [Write]
  var registrations: [Registration]

  init(_ exported: ExportedWrites, _ batches: [PendingBatch]) {
    user = exported.user
    writes = zip(exported.batches, batches).map { item, batch in
      Write(
        queue: item.queue, run: item.run.description, number: item.number.value,
        paths: batch.paths.map(\.description), data: Data(item.bytes))
    }
    registrations = exported.registrations.map {
      Registration(run: $0.run.description, token: Data($0.token), through: $0.through.value)
    }
  }

  static func read(_ data: Data) throws -> ExportedWrites {
    let invalid = FirestoreErrors.make(.invalidArgument, "The data is not an export of pending writes.")
    let file: PendingWritesFile
    do { file = try JSONDecoder().decode(PendingWritesFile.self, from: data) } catch { throw invalid }
    guard file.format == formatName else { throw invalid }
    guard file.version == 1 else {
      throw FirestoreErrors.make(
        .failedPrecondition, "The export has version \(file.version), which this release cannot read.")
    }
    func run(_ text: String) throws -> RunID {
      guard let number = UInt64(text, radix: 36) else { throw invalid }
      return RunID(number)
    }
    return ExportedWrites(
      user: file.user,
      batches: try file.writes.map {
        ExportedWrites.Batch(
          queue: $0.queue, run: try run($0.run), number: BatchID($0.number), bytes: Array($0.data))
      },
      registrations: try file.registrations.map {
        ExportedWrites.Registration(
          run: try run($0.run), token: Array($0.token), through: BatchID($0.through))
      })
  }
}
