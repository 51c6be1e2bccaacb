// Databases that are open for reading beside their writer.

import Authority
import ByteStore
import DocumentStore
import FirebaseCore
import Foundation
import Harness
import OfflineSync
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(1))) struct ReadOnlyTests {
  /// A folder with a database in it, which is deleted with the object.
  private final class Shop {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-test-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: folder) }

    func writer() throws -> Firestore { try Firestore.open(at: folder) }

    func reader(every seconds: Double = 3600) throws -> Firestore {
      let settings = FirestoreSettings()
      settings.dispatchQueue = DispatchQueue(label: "dugout.test.reader")
      settings.refreshInterval = seconds
      return try Firestore.open(at: folder, access: .readOnly, settings: settings)
    }

    /// Writes documents and closes the database, which makes all commits visible to readers.
    func write(_ documents: [String: Int]) async throws {
      let writer = try writer()
      for (path, n) in documents { try await writer.document(path).setData(["n": n]) }
      try await writer.terminate()
    }
  }

  private func number(_ firestore: Firestore, _ path: String) async throws -> Int? {
    try await firestore.document(path).getDocument().get("n") as? Int
  }

  /// Returns the code of the error that `body` throws; nil if it throws none of this module.
  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    do {
      try await body()
      return nil
    } catch {
      let error = error as NSError
      return error.domain == FirestoreErrorDomain ? FirestoreErrorCode.Code(rawValue: error.code) : nil
    }
  }

  // MARK: Reading

  /// The bug: a refused write of a reader gave a shape an id. The writer gave it to another shape, and the
  /// next refresh reported damage.
  @Test func refusedWritesOfAReaderCreateNoShapes() async throws {
    let shop = Shop()
    try await shop.write(["orders/1": 1])
    let reader = try shop.reader()
    #expect(try await number(reader, "orders/1") == 1)
    for _ in 0..<3 {
      let code = await code { try await reader.document("orders/2").setData(["only": ["the reader": 1]]) }
      #expect(code == .failedPrecondition)
    }
    #expect(reader.fieldsEncoder == nil)
    let writer = try shop.writer()
    for id in 2..<6 { try await writer.document("orders/\(id)").setData(["n": id, "state": "open"]) }
    try await writer.terminate()
    try await reader.refresh()
    #expect(try await number(reader, "orders/5") == 5)
    try await reader.terminate()
  }

  @Test func aReaderShowsANewerStateAfterARefresh() async throws {
    let shop = Shop()
    try await shop.write(["orders/1": 1])
    let reader = try shop.reader()
    #expect(reader.access == .readOnly)
    #expect(try await number(reader, "orders/1") == 1)
    try await shop.write(["orders/1": 2, "orders/2": 2])
    #expect(try await number(reader, "orders/1") == 1, "a reader changes only when it is refreshed")
    #expect(try await reader.refresh())
    #expect(try await number(reader, "orders/1") == 2)
    #expect(try await reader.collection("orders").getDocuments().count == 2)
    #expect(try await !reader.refresh())
    try await reader.terminate()
    #expect(await code { try await reader.refresh() } == .failedPrecondition)
  }

  @Test func aReaderAndAWriterAreOpenInOneProcess() async throws {
    let shop = Shop()
    let writer = try shop.writer()
    let reader = try shop.reader()
    let other = try shop.reader()
    #expect(writer.access == .readAndWrite && writer.snapshotAge == nil)
    #expect(try await !writer.refresh(), "the writer shows its own commits at once")
    try await writer.document("orders/1").setData(["n": 1])
    try await writer.terminate()
    // Both instances share one store.
    #expect(try await other.refresh())
    #expect(try await number(reader, "orders/1") == 1)
    try await reader.terminate()
    #expect(try await number(other, "orders/1") == 1)
    try await other.terminate()
  }

  @Test func queriesAggregatesPagesAndTransactionsRead() async throws {
    let shop = Shop()
    let documents = Dictionary(uniqueKeysWithValues: (0..<100).map { ("orders/\($0)", $0) })
    try await shop.write(documents)
    let reader = try shop.reader()
    let orders = reader.collection("orders")
    let late = try await orders.whereField("n", isGreaterThan: 97).order(by: "n").getDocuments()
    #expect(late.documents.map(\.documentID) == ["98", "99"])
    #expect(try await orders.count.getAggregation(source: .server).count == 100)
    var ids: Set<String> = []
    for try await document in reader.documents(in: orders, pageSize: 7) { ids.insert(document.documentID) }
    #expect(ids.count == 100)
    let document = reader.document("orders/5")
    let read = try await reader.runTransaction { transaction, _ in
      (try? transaction.getDocument(document))?.get("n") as? Int
    }
    #expect(read as? Int == 5)
    let copy = shop.folder.appendingPathExtension("copy")
    defer { try? FileManager.default.removeItem(at: copy) }
    try await reader.backup(to: copy)
    let backup = try Firestore.open(at: copy)
    #expect(try await number(backup, "orders/99") == 99)
    try await backup.terminate()
    #expect(reader.health().writing == .readOnly && !reader.health().canWrite)
    try await reader.terminate()
  }

  @Test func theAgeTellsTheLastCommitAndTheFailureOfARefresh() async throws {
    let shop = Shop()
    let before = Date()
    try await shop.write(["orders/1": 1])
    let reader = try shop.reader()
    let age = try #require(reader.snapshotAge)
    let committed = try #require(age.lastCommit)
    #expect(before.addingTimeInterval(-1) < committed && committed < Date().addingTimeInterval(1))
    #expect(age.secondsSinceRefresh >= 0 && age.pendingByteCount == 0 && age.failure == nil)
    let away = shop.folder.appendingPathExtension("away")
    defer { try? FileManager.default.removeItem(at: away) }
    try FileManager.default.moveItem(at: shop.folder.appendingPathComponent("MANIFEST"), to: away)
    #expect(await code { try await reader.refresh() } == .failedPrecondition)
    #expect(reader.snapshotAge?.failure?.isEmpty == false)
    #expect(try await number(reader, "orders/1") == 1, "the state that was shown stays visible")
    try FileManager.default.moveItem(at: away, to: shop.folder.appendingPathComponent("MANIFEST"))
    try await reader.refresh()
    #expect(reader.snapshotAge?.failure == nil)
    try await reader.terminate()
    #expect(reader.snapshotAge == nil)
  }

  /// The instances share one store, so a refresh of one of them is a refresh of all.
  @Test func aSuccessOfAnotherInstanceEndsAFailure() async throws {
    let shop = Shop()
    try await shop.write(["orders/1": 1])
    let (first, second) = (try shop.reader(), try shop.reader())
    let away = shop.folder.appendingPathExtension("away")
    defer { try? FileManager.default.removeItem(at: away) }
    try FileManager.default.moveItem(at: shop.folder.appendingPathComponent("MANIFEST"), to: away)
    #expect(await code { try await first.refresh() } == .failedPrecondition)
    #expect(first.snapshotAge?.failure != nil && second.snapshotAge?.failure != nil)
    try FileManager.default.moveItem(at: away, to: shop.folder.appendingPathComponent("MANIFEST"))
    try await second.refresh()
    #expect(first.snapshotAge?.failure == nil && second.snapshotAge?.failure == nil)
    try await first.terminate()
    try await second.terminate()
  }

  @Test func aRefreshFailsIfTheDatabaseWasMovedOrReplaced() async throws {
    let shop = Shop()
    let away = shop.folder.appendingPathExtension("away")
    defer { try? FileManager.default.removeItem(at: away) }
    try await shop.write(["orders/1": 1])
    let reader = try shop.reader()
    try FileManager.default.moveItem(at: shop.folder, to: away)
    #expect(await code { try await reader.refresh() } == .failedPrecondition)
    try await shop.write(["orders/1": 2])
    #expect(await code { try await reader.refresh() } == .failedPrecondition)
    #expect(try await number(reader, "orders/1") == 1, "the state that was shown stays visible")
    try await reader.terminate()
  }

  // MARK: Following

  @Test func aListenerFollowsTheWriter() async throws {
    let shop = Shop()
    let writer = try shop.writer()
    try await writer.document("orders/1").setData(["n": 1])
    let reader = try shop.reader(every: 0.005)
    var writes = 1
    var seen: [Int] = []
    for try await snapshot in reader.document("orders/1").snapshots {
      guard let n = snapshot.get("n") as? Int else { continue }
      seen.append(n)
      guard n < 3 else { break }
      writes += 1
      try await writer.document("orders/1").setData(["n": writes])
    }
    #expect(seen == [1, 2, 3])
    try await reader.terminate()
    try await writer.terminate()
  }

  @Test func followingLastsAsLongAsItsRegistration() async throws {
    let shop = Shop()
    try await shop.write(["orders/1": 1])
    let reader = try shop.reader()
    let following = reader.follow()
    #expect(reader.health().listenerCount == 1)
    following.remove()
    #expect(reader.health().listenerCount == 0)
    try await reader.terminate()
  }

  /// The interval is an hour. A listener that is added meanwhile must not wait for its end, and the others
  /// follow with it.
  @Test func aNewListenerShowsTheLastCommitAtOnce() async throws {
    let shop = Shop()
    try await shop.write(["orders/1": 1])
    let reader = try shop.reader()
    let (numbers, number) = AsyncStream.makeStream(of: Int?.self)
    let first = reader.document("orders/1").addSnapshotListener { snapshot, _ in
      number.yield(snapshot?.get("n") as? Int)
    }
    var iterator = numbers.makeAsyncIterator()
    #expect(await iterator.next() == 1)
    try await shop.write(["orders/1": 2])
    let second = reader.follow()
    #expect(await iterator.next() == 2)
    first.remove()
    second.remove()
    try await reader.terminate()
  }

  // MARK: Refusals

  @Test func writesFailAndChangeNothing() async throws {
    let shop = Shop()
    try await shop.write(["orders/1": 1])
    let reader = try shop.reader()
    let order = reader.document("orders/1")
    let index = FirestoreIndex("orders", [.ascending("n")])
    let calls: [(String, () async throws -> Void)] = [
      ("set", { try await order.setData(["n": 2]) }),
      ("update", { try await order.updateData(["n": 2]) }),
      ("delete", { try await order.delete() }),
      ("batch", { try await reader.batch().deleteDocument(order).commit() }),
      (
        "transaction",
        {
          _ = try await reader.runTransaction { transaction, _ in
            transaction.updateData(["n": 2], forDocument: order)
            return nil
          }
        }
      ),
      ("createIndex", { try await reader.createIndex(index) }),
      ("dropIndex", { _ = try await reader.dropIndex(index) }),
      ("setTimeToLive", { try await reader.setTimeToLive(field: "end", collection: "orders") }),
      ("evict", { try await reader.evict(collection: "orders", olderThan: Date()) }),
      ("registerConsumer", { _ = try await reader.registerConsumer("mirror") }),
      ("clearPersistence", { try await reader.clearPersistence() }),
    ]
    var wrong: [String] = []
    for (name, call) in calls {
      let code = await code(call)
      if code != .failedPrecondition { wrong.append("\(name): \(code.map { "\($0)" } ?? "no error")") }
    }
    #expect(wrong == [])
    #expect(try await number(reader, "orders/1") == 1)
    try await reader.terminate()
    #expect(await code { try await reader.clearPersistence() } == .failedPrecondition)
    let writer = try shop.writer()
    #expect(try await number(writer, "orders/1") == 1)
    try await writer.terminate()
  }

  @Test func aTransactionThatWritesRunsOnlyOnce() async throws {
    let shop = Shop()
    try await shop.write(["orders/1": 1])
    let reader = try shop.reader()
    let order = reader.document("orders/1")
    let runs = Locked(0)
    let code = await code {
      _ = try await reader.runTransaction { transaction, _ in
        runs.withLock { $0 += 1 }
        transaction.deleteDocument(order)
        return nil
      }
    }
    #expect(code == .failedPrecondition && runs.withLock { $0 } == 1)
    try await reader.terminate()
  }

  @Test func anOpenNeedsADatabaseAndNoRemote() async throws {
    let shop = Shop()
    #expect(await code { _ = try shop.reader() } == .failedPrecondition)
    #expect(!FileManager.default.fileExists(atPath: shop.folder.path))
    try await shop.write(["orders/1": 1])
    let settings = FirestoreSettings()
    settings.remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
    let code = await code {
      _ = try Firestore.open(at: shop.folder, access: .readOnly, settings: settings)
    }
    #expect(code == .invalidArgument)
  }

  @Test func theRefreshIntervalIsLimited() {
    let settings = FirestoreSettings()
    #expect(settings.refreshInterval == 0.25)
    var found: [Double] = []
    for seconds in [0, -1, .nan, 0.5, .infinity] {
      settings.refreshInterval = seconds
      found.append(settings.refreshInterval)
    }
    #expect(found == [0.001, 0.001, 0.001, 0.5, 86_400])
  }
}
