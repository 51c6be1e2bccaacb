// The steps of the program that is compared with Firestore's emulator.

import FirebaseFirestore
import Foundation

extension ClientProgram {
  // MARK: Data

  func values(_ lines: Lines) async throws {
    let document = one.document("values/a")
    try await document.setData([
      "null": NSNull(), "yes": true, "int": 7, "double": 2.5, "nan": Double.nan, "text": "é😀\"",
      "bytes": Data([0, 1, 255]), "time": Timestamp(seconds: 12, nanoseconds: 345_000),
      "list": [1, "a", [:]],
      "point": GeoPoint(latitude: 1.5, longitude: -2), "map": ["a.b": ["c": 1]],
      "reference": one.document("values/b"), "server": FieldValue.serverTimestamp(),
    ])
    lines.add(Self.text(of: try await two.document("values/a").getDocument(source: .server)))
  }

  func writes(_ lines: Lines) async throws {
    let document = one.document("writes/a")
    func show() async throws {
      lines.add(Self.text(of: try await two.document("writes/a").getDocument(source: .server)))
    }
    try await document.setData(["a": 1, "b": ["c": 1, "d": 2], "list": [1, 2]])
    try await document.setData(["b": ["c": 3], "e": 4], merge: true)
    try await show()
    try await document.updateData([
      "b.d": FieldValue.delete(), "a": FieldValue.increment(Int64(5)), "half": FieldValue.increment(0.5),
      "list": FieldValue.arrayUnion([2, 3]),
    ])
    try await show()
    try await document.updateData(["list": FieldValue.arrayRemove([1]), "a": FieldValue.increment(0.25)])
    try await show()
    let batch = one.batch()
    batch.setData(["n": 1], forDocument: one.document("writes/b"))
    batch.updateData(["a": 0], forDocument: document)
    batch.deleteDocument(one.document("writes/none"))
    try await batch.commit()
    try await show()
    try await document.delete()
    try await show()
  }

  private func fill(_ collection: String) async throws -> CollectionReference {
    let batch = one.batch()
    for number in 0..<12 {
      batch.setData(
        ["n": number, "half": Double(number % 3) / 2, "tags": ["t\(number % 4)", "all"]],
        forDocument: one.document("\(collection)/d\(number)"))
    }
    try await batch.commit()
    return two.collection(collection)
  }

  func queries(_ lines: Lines) async throws {
    let all = try await fill("queries")
    let queries: [(String, Query)] = [
      ("equality", all.whereField("half", isEqualTo: 0.5)), ("in", all.whereField("n", in: [3, 5, 40])),
      ("not in", all.whereField("n", notIn: [0, 1, 2, 3])),
      ("contains", all.whereField("tags", arrayContains: "t2")),
      ("contains any", all.whereField("tags", arrayContainsAny: ["t1", "t3"])),
      ("range", all.whereField("n", isGreaterThan: 2).whereField("n", isLessThanOrEqualTo: 6)),
      ("descending", all.order(by: "half", descending: true).order(by: "n").limit(to: 5)),
      ("last", all.order(by: "n").limit(toLast: 3)),
      ("cursors", all.order(by: "n").start(after: [4]).end(at: [8])),
      (
        "alternatives",
        all.whereFilter(
          .orFilter([.whereField("n", isEqualTo: 1), .whereField("half", isEqualTo: 1.0)]))
      ),
      ("group", two.collectionGroup("queries").whereField("n", isLessThan: 3)),
    ]
    for (name, query) in queries {
      let ids = try await query.getDocuments(source: .server).documents.map(\.documentID)
      lines.add("\(name): \(ids)")
    }
    let page = try await all.order(by: "n").limit(to: 4).getDocuments(source: .server)
    guard let last = page.documents.last else { return lines.add("no page") }
    let next = try await all.order(by: "n").start(afterDocument: last).limit(to: 4).getDocuments(
      source: .server)
    lines.add("next page: \(next.documents.map(\.documentID))")
  }

  func aggregates(_ lines: Lines) async throws {
    let all = try await fill("aggregates")
    lines.add("\(try await all.count.getAggregation(source: .server).count)")
    let some = all.whereField("n", isGreaterThan: 3)
    let lists: [[AggregateField]] = [
      [.count(), .sum("n"), .average("half")], [.sum("none"), .average("none")],
    ]
    for fields in lists {
      let result = try await some.aggregate(fields).getAggregation(source: .server)
      lines.add("\(fields.map { "\(result.get($0))" })")
    }
  }

  // MARK: Listeners

  func listeners(_ lines: Lines) async throws {
    let listener = ProgramListener(one.collection("listeners").order(by: "n"))
    defer { listener.remove() }
    lines.add(try await listener.text { $0.isEmpty && !$0.metadata.isFromCache })
    try await two.document("listeners/a").setData(["n": 2])
    lines.add(try await listener.text { $0.count == 1 && $0.isSynced })
    try await one.document("listeners/b").setData(["n": 1])
    lines.add(try await listener.text { $0.count == 2 && $0.isSynced })
    try await two.document("listeners/a").updateData(["n": 0])
    lines.add(try await listener.text { $0.documents.first?.documentID == "a" && $0.isSynced })
    try await two.document("listeners/b").delete()
    lines.add(try await listener.text { $0.count == 1 && $0.isSynced })
  }

  func limits(_ lines: Lines) async throws {
    _ = try await fill("limits")
    let first = ProgramListener(one.collection("limits").order(by: "n").limit(to: 3))
    let last = ProgramListener(one.collection("limits").order(by: "n").limit(toLast: 2))
    defer {
      first.remove()
      last.remove()
    }
    lines.add(try await first.text { $0.count == 3 && $0.isSynced })
    lines.add(try await last.text { $0.count == 2 && $0.isSynced })
    try await two.document("limits/d0").delete()
    lines.add(try await first.text { $0.documents.first?.documentID == "d1" && $0.count == 3 && $0.isSynced })
    try await two.document("limits/d1").updateData(["n": 100])
    lines.add(try await first.text { $0.documents.first?.documentID == "d2" && $0.count == 3 && $0.isSynced })
    lines.add(try await last.text { $0.documents.last?.documentID == "d1" && $0.isSynced })
  }

  // MARK: Refusals

  func transactions(_ lines: Lines) async throws {
    let path = "transactions/a"
    try await one.document(path).setData(["n": 0])
    for number in 0..<6 {
      let firestore = number.isMultiple(of: 2) ? one : two
      let document = firestore.document(path)
      _ = try await firestore.runTransaction { transaction, failure in
        do {
          let n = try transaction.getDocument(document).get("n") as? Int ?? -100
          transaction.updateData(["n": n + 1], forDocument: document)
        } catch {
          failure?.pointee = error as NSError
        }
        return nil
      }
    }
    lines.add(Self.text(of: try await two.document(path).getDocument(source: .server)))
    let absent = one.document("transactions/none")
    await lines.add("update of an absent document") {
      _ = try await self.one.runTransaction { transaction, _ in
        transaction.updateData(["n": 1], forDocument: absent)
        return nil
      }
    }
    await lines.add("an error of the block") {
      _ = try await self.one.runTransaction { _, failure in
        failure?.pointee = NSError(domain: FirestoreErrorDomain, code: FirestoreErrorCode.dataLoss.rawValue)
        return nil
      }
    }
  }

  func rejectedWrites(_ lines: Lines) async throws {
    try await one.document("rejected/a").setData(["n": 1])
    let listener = ProgramListener(one.collection("rejected"))
    defer { listener.remove() }
    lines.add(try await listener.text { $0.count == 1 && $0.isSynced })
    await lines.add("update of an absent document") {
      try await self.one.document("rejected/none").updateData(["n": 1])
    }
    let batch = one.batch()
    batch.setData(["n": 2], forDocument: one.document("rejected/b"))
    batch.updateData(["n": 2], forDocument: one.document("rejected/none"))
    await lines.add("batch with such an update") { try await batch.commit() }
    lines.add(try await listener.text { $0.count == 1 && $0.isSynced })
    await lines.add("the next write") { try await self.one.document("rejected/a").setData(["n": 3]) }
    lines.add(Self.text(of: try await two.collection("rejected").getDocuments(source: .server)))
  }

  // MARK: Without a network

  func offline(_ lines: Lines) async throws {
    try await two.document("offline/a").setData(["n": 1])
    let listener = ProgramListener(one.collection("offline"))
    defer { listener.remove() }
    lines.add(try await listener.text { $0.count == 1 && $0.isSynced })
    try await one.disableNetwork()
    lines.add(try await listener.text { $0.metadata.isFromCache })
    one.document("offline/a").updateData(["n": FieldValue.increment(Int64(10))], completion: nil)
    one.document("offline/b").setData(["n": 2], completion: nil)
    lines.add(try await listener.text { $0.count == 2 && $0.metadata.hasPendingWrites })
    await lines.add("a read of the server") {
      _ = try await self.one.document("offline/a").getDocument(source: .server)
    }
    lines.add(Self.text(of: try await one.document("offline/a").getDocument()))
    await lines.add("an absent document") { _ = try await self.one.document("offline/none").getDocument() }
    try await two.document("offline/a").setData(["n": 100])
    try await one.enableNetwork()
    try await one.waitForPendingWrites()
    lines.add(try await listener.text { $0.count == 2 && $0.isSynced })
    lines.add(Self.text(of: try await two.collection("offline").getDocuments(source: .server)))
  }

  func restartWithWrites(_ lines: Lines) async throws {
    try await one.document("restart/a").setData(["n": 1])
    try await one.disableNetwork()
    for _ in 0..<12 {
      one.document("restart/a").updateData(["n": FieldValue.increment(Int64(1))], completion: nil)
    }
    lines.add(Self.text(of: try await one.document("restart/a").getDocument(source: .cache)))
    try await restart()
    try await one.waitForPendingWrites()
    lines.add(Self.text(of: try await two.document("restart/a").getDocument(source: .server)))
  }

  /// A cached document matches a query that has never been sent, but not at the server any more.
  func limbo(_ lines: Lines) async throws {
    try await one.document("limbo/a").setData(["x": 1, "y": 1])
    try await one.document("limbo/b").setData(["x": 1, "y": 1])
    try await one.document("limbo/c").setData(["x": 1, "y": 1])
    try await two.document("limbo/a").delete()
    try await two.document("limbo/b").updateData(["y": 2])
    let query = one.collection("limbo").whereField("x", isEqualTo: 1).whereField("y", isEqualTo: 1)
    let listener = ProgramListener(query)
    defer { listener.remove() }
    lines.add(try await listener.text { $0.count == 1 && $0.isSynced })
    lines.add(Self.text(of: try await one.document("limbo/a").getDocument(source: .server)))
  }
}

extension QuerySnapshot {
  fileprivate var isSynced: Bool { !metadata.isFromCache && !metadata.hasPendingWrites }
}

/// The last snapshot of a listener.
private final class ProgramListener {
  private struct Missing: Error, CustomStringConvertible {
    let description: String
  }

  private static let secondsMax = 60.0

  private let snapshots: AsyncThrowingStream<QuerySnapshot, any Error>
  private let registration: any ListenerRegistration
  private var last: QuerySnapshot?

  init(_ query: Query) {
    let (stream, continuation) = AsyncThrowingStream<QuerySnapshot, any Error>.makeStream()
    snapshots = stream
    registration = query.addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
      if let snapshot { continuation.yield(snapshot) }
      if let error { continuation.finish(throwing: error) }
    }
    // A snapshot that never comes must not stop the program.
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.secondsMax) {
      continuation.finish(throwing: Missing(description: "no such snapshot"))
    }
  }

  func remove() { registration.remove() }

  /// The text of the first snapshot from the last one on for which the condition holds.
  func text(when condition: (QuerySnapshot) -> Bool) async throws -> String {
    if let last, condition(last) { return ClientProgram.text(of: last) }
    for try await snapshot in snapshots {
      last = snapshot
      if condition(snapshot) { return ClientProgram.text(of: snapshot) }
    }
    throw Missing(description: "the listener has ended at \(last.map { ClientProgram.text(of: $0) } ?? "-")")
  }
}
