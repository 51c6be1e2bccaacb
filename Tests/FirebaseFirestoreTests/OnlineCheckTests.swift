// The check of a database that is in use.

import ByteStore
import FirebaseFirestore
import Foundation
import Testing

@Suite struct OnlineCheckTests {
  private static func filled(_ firestore: Firestore, _ count: Int = 300) async throws {
    let batch = firestore.batch()
    for n in 0..<count {
      batch.setData(["n": n, "text": "document \(n)"], forDocument: firestore.document("a/\(n)"))
    }
    try await batch.commit()
    _ = try await firestore.collection("a").whereField("n", isGreaterThan: 10).getDocuments()
  }

  @Test func aHealthyDatabaseHasNoFindings() async throws {
    let database = try TestDatabase()
    try await Self.filled(database.firestore)
    let steps = Locked<[FirestoreCheckProgress]>([])
    let report = try await database.firestore.check { step in steps.withLock { $0.append(step) } }
    #expect(report.isHealthy && report.findings == [] && report.lostDocuments == [])
    #expect(report.documentCount == 300)
    #expect(report.fileCount >= 2 && report.byteCount > 0 && report.skippedFileCount == 0)
    let seen = steps.withLock { $0 }
    #expect(seen.contains { $0.step == .files } && !seen.contains { $0.step == .documents })
    #expect(seen.allSatisfy { (0...1).contains($0.fractionCompleted) })
    await database.close()
  }

  @Test func aDatabaseInMemoryIsChecked() async throws {
    let firestore = Firestore.memory()
    try await Self.filled(firestore)
    let report = try await firestore.check()
    #expect(report.isHealthy && report.documentCount == 300)
    try await firestore.terminate()
  }

  /// A write that is issued by the progress closure is committed before the check ends.
  @Test func writesContinueDuringACheck() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    try await Self.filled(firestore)
    let isWritten = DispatchSemaphore(value: 0)
    let begins = Locked(true)
    let report = try await firestore.check { _ in
      let isFirst = begins.withLock { begins in
        defer { begins = false }
        return begins
      }
      guard isFirst else { return }
      firestore.document("b/new").setData(["x": 1]) { _ in isWritten.signal() }
      isWritten.wait()
    }
    #expect(report.isHealthy)
    #expect(try await firestore.document("b/new").getDocument().exists)
    await database.close()
  }

  /// The damage is in a log, whose commits the open database has in memory.
  @Test func damageIsListedWithItsPlaceAndItsLoss() async throws {
    let database = try TestDatabase()
    try await Self.filled(database.firestore)
    let files =
      FileManager.default.enumerator(atPath: database.folder.path)?.compactMap { $0 as? String } ?? []
    let logs = files.filter { $0.contains("/log-") }.map { database.folder.appendingPathComponent($0) }
    let text = Data("document 7".utf8)
    let log = try #require(try logs.first { try Data(contentsOf: $0).firstRange(of: text) != nil })
    let bytes = try Data(contentsOf: log)
    let place = try #require(bytes.firstRange(of: text)).lowerBound
    let handle = try FileHandle(forUpdating: log)
    try handle.seek(toOffset: UInt64(place))
    try handle.write(contentsOf: Data([bytes[place] ^ 0x10]))
    try handle.close()
    let report = try await database.firestore.check()
    #expect(!report.isHealthy)
    let finding = try #require(report.findings.first)
    #expect(finding.loss == .recentWrites && finding.file == log.path)
    let offset = try #require(finding.offset)
    #expect(offset > 0 && offset <= UInt64(place))
    #expect(finding.description.contains(" is damaged at byte \(offset): expected "), "\(finding)")
    // All documents are still in memory, so none is lost, and a backup contains them.
    #expect(report.lostDocuments == [])
    let copy = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: copy) }
    try await database.firestore.backup(to: copy)
    let backup = try Firestore.open(at: copy)
    #expect(try await backup.check().documentCount == 300)
    try await backup.terminate()
    await database.close()
  }

  @Test func aCancelledCheckThrowsACancellationError() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    try await Self.filled(firestore)
    let cancel = Locked<(@Sendable () -> Void)?>(nil)
    let canBeCancelled = DispatchSemaphore(value: 0)
    let task = Task {
      try await firestore.check { _ in
        // The signal is passed on, because every call of this closure waits for it.
        canBeCancelled.wait()
        canBeCancelled.signal()
        cancel.withLock { $0 }?()
      }
    }
    cancel.withLock { $0 = { task.cancel() } }
    canBeCancelled.signal()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await firestore.check().isHealthy)
    await database.close()
  }
}
