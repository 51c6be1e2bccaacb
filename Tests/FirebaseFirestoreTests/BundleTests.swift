// Loading bundles.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct BundleTests {
  private static let root = "projects/elsewhere/databases/(default)/documents"

  /// Prefixes each element with its length.
  private static func bundle(_ elements: [String]) -> Data {
    Data(elements.map { "\($0.utf8.count)\($0)" }.joined().utf8)
  }

  private static func metadata(
    documents: Int, createTime: String = "2026-01-02T00:00:00.000001Z", id: String = "b"
  ) -> String {
    "{\"metadata\": {\"id\": \"\(id)\", \"createTime\": \"\(createTime)\", \"version\": 1,"
      + " \"totalDocuments\": \(documents), \"totalBytes\": \"1000\"}}"
  }

  private static func document(
    _ id: String, _ fields: String, at updateTime: String = "2026-01-01T12:00:00.5+02:00"
  ) -> [String] {
    [
      "{\"documentMetadata\": {\"name\": \"\(root)/a/\(id)\", \"readTime\": \"2026-01-02T00:00:00Z\","
        + " \"exists\": true, \"queries\": [\"top\"]}}",
      "{\"document\": {\"name\": \"\(root)/a/\(id)\", \"createTime\": \"2026-01-01T00:00:00Z\","
        + " \"updateTime\": \"\(updateTime)\", \"fields\": {\(fields)}}}",
    ]
  }

  private static let query =
    "{\"namedQuery\": {\"name\": \"top\", \"readTime\": \"2026-01-02T00:00:00Z\", \"bundledQuery\": {\"parent\": \"\(root)\","
    + " \"limitType\": \"LAST\", \"structuredQuery\": {\"from\": [{\"collectionId\": \"a\"}], \"limit\": {\"value\": 2},"
    + " \"where\": {\"compositeFilter\": {\"op\": \"AND\", \"filters\": [{\"fieldFilter\": {\"field\": {\"fieldPath\": \"n\"},"
    + " \"op\": \"GREATER_THAN\", \"value\": {\"integerValue\": \"0\"}}}, {\"unaryFilter\": {\"op\": \"IS_NOT_NULL\","
    + " \"field\": {\"fieldPath\": \"n\"}}}]}}, \"orderBy\": [{\"field\": {\"fieldPath\": \"n\"}, \"direction\":"
    + " \"DESCENDING\"}]}}}}"

  @Test func documentsAndQueriesAreLoadedOnce() async throws {
    let firestore = Firestore.memory()
    let value = """
      "n": {"integerValue": "7"}, "d": {"doubleValue": "NaN"}, "t": {"timestampValue": "2026-01-01T00:00:00.123456Z"},
      "r": {"referenceValue": "\(Self.root)/a/x"}, "g": {"geoPointValue": {"latitude": 1.5, "longitude": 2}},
      "b": {"bytesValue": "AP8="}, "s": {"stringValue": "text"}, "z": {"nullValue": null}, "f": {"booleanValue": true},
      "m": {"mapValue": {"fields": {"l": {"arrayValue": {"values": [{"integerValue": 1}]}}}}},
      "v": {"mapValue": {"fields": {"__type__": {"stringValue": "__vector__"},
        "value": {"arrayValue": {"values": [{"doubleValue": 1.5}, {"doubleValue": 2}]}}}}}
      """
    let data = Self.bundle(
      [Self.metadata(documents: 3), Self.query] + Self.document("one", value)
        + Self.document("two", "\"n\": {\"integerValue\": \"3\"}")
        + Self.document("three", "\"n\": {\"integerValue\": \"5\"}"))
    let progress = try await firestore.loadBundle(data)
    #expect(progress.state == .success && progress.documentsLoaded == 3 && progress.totalDocuments == 3)
    #expect(progress.totalBytes == 1000 && progress.bytesLoaded > 1000)
    let one = try await firestore.document("a/one").getDocument()
    #expect(one["n"] as? Int == 7 && (one["d"] as? Double)?.isNaN == true && one["f"] as? Bool == true)
    #expect(one["t"] as? Timestamp == Timestamp(seconds: 1_767_225_600, nanoseconds: 123_456_000))
    #expect(one["r"] as? DocumentReference == firestore.document("a/x"))
    #expect(one["g"] as? GeoPoint == GeoPoint(latitude: 1.5, longitude: 2))
    #expect(one["b"] as? Data == Data([0, 255]) && one["s"] as? String == "text" && one["z"] is NSNull)
    #expect(one["m.l"] as? [Int] == [1] && one["v"] as? VectorValue == VectorValue([1.5, 2]))

    let top = try #require(await firestore.getQuery(named: "top"))
    #expect(try await top.getDocuments().documents.map(\.documentID) == ["three", "two"])
    #expect(await firestore.getQuery(named: "none") == nil)

    try await firestore.document("a/one").delete()
    let again = try await firestore.loadBundle(InputStream(data: data))
    #expect(again.state == .success && again.documentsLoaded == 3 && again.bytesLoaded == 1000)
    #expect(try await !firestore.document("a/one").getDocument().exists)
    try await firestore.terminate()
  }

  @Test func newerDocumentsStayAsTheyAre() async throws {
    let firestore = Firestore.memory()
    try await firestore.document("a/one").setData(["n": "mine"])
    try await firestore.document("a/gone").setData(["n": 1])
    let old = Self.document("one", "\"n\": {\"integerValue\": \"1\"}")
    let gone =
      "{\"documentMetadata\": {\"name\": \"\(Self.root)/a/gone\", \"readTime\": \"2096-01-02T00:00:00Z\","
      + " \"exists\": false}}"
    try await firestore.loadBundle(Self.bundle([Self.metadata(documents: 2)] + old + [gone]))
    #expect(try await firestore.document("a/one").getDocument()["n"] as? String == "mine")
    #expect(try await !firestore.document("a/gone").getDocument().exists)
    try await firestore.terminate()
  }

  /// A document gets its version from the bundle, not from the time of the load.
  @Test func aLaterBundleReplacesAnEarlierOneButNotTheUsersWrites() async throws {
    let firestore = Firestore.memory()
    func load(_ n: Int, _ id: String, createTime: String, updateTime: String) async throws -> Int? {
      let document = Self.document("one", "\"n\": {\"integerValue\": \"\(n)\"}", at: updateTime)
      try await firestore.loadBundle(
        Self.bundle([Self.metadata(documents: 1, createTime: createTime, id: id)] + document))
      return try await firestore.document("a/one").getDocument()["n"] as? Int
    }
    let (january, february, march) = ("2026-01-05T00:00:00Z", "2026-02-05T00:00:00Z", "2026-03-05T00:00:00Z")
    #expect(try await load(1, "b", createTime: january, updateTime: january) == 1)
    #expect(try await load(2, "b", createTime: february, updateTime: february) == 2)
    #expect(try await load(3, "other", createTime: march, updateTime: january) == 2, "an older document")
    try await firestore.document("a/one").updateData(["n": 10])
    #expect(try await load(4, "b", createTime: march, updateTime: march) == 10, "the user was later")
    // Time zero also marks a pending write, but a bundle may still use it as a version.
    try await firestore.document("a/one").delete()
    #expect(try await load(5, "c", createTime: march, updateTime: "1970-01-01T00:00:00Z") == 5)
    #expect(try await !firestore.document("a/one").getDocument().metadata.hasPendingWrites)
    try await firestore.terminate()
  }

  @Test func aDocumentWithTimeZeroIsNotPendingWithARemote() async throws {
    let firestore = try RemoteDatabase().firestore
    let document = Self.document("one", "\"n\": {\"integerValue\": \"1\"}", at: "1970-01-01T00:00:00Z")
    try await firestore.loadBundle(Self.bundle([Self.metadata(documents: 1)] + document))
    let read = try await firestore.document("a/one").getDocument(source: .cache)
    #expect(read["n"] as? Int == 1 && !read.metadata.hasPendingWrites)
    try await firestore.terminate()
  }

  /// Guards against an old bundle that overwrites a newer bundle because the newer one only repeated the
  /// values that were already stored.
  @Test func aRepeatedDocumentGetsTheLaterVersionWithoutASnapshot() async throws {
    let database = try TestDatabase()
    let firestore = database.firestore
    func load(_ one: Int, _ two: Int, _ id: String, at updateTime: String) async throws {
      let documents =
        Self.document("one", "\"n\": {\"integerValue\": \"\(one)\"}", at: updateTime)
        + Self.document("two", "\"n\": {\"integerValue\": \"\(two)\"}", at: updateTime)
      try await firestore.loadBundle(Self.bundle([Self.metadata(documents: 2, id: id)] + documents))
    }
    try await load(1, 1, "first", at: "2026-01-05T00:00:00Z")
    let (one, all) = (Events<DocumentSnapshot>(), Events<QuerySnapshot>())
    _ = firestore.document("a/one").addSnapshotListener(one.add)
    _ = firestore.collection("a").addSnapshotListener(all.add)
    #expect(await one.next?["n"] as? Int == 1)
    #expect(await all.next?.count == 2)

    try await load(1, 2, "third", at: "2026-03-05T00:00:00Z")
    #expect(await all.next?.documentChanges.map(\.document.documentID) == ["two"])
    try await load(3, 3, "second", at: "2026-02-05T00:00:00Z")
    try await load(1, 2, "fourth", at: "2026-04-05T00:00:00Z")
    #expect(await one.rest(database) == 0)
    #expect(await all.rest(database) == 0)
    #expect(try await firestore.document("a/one").getDocument()["n"] as? Int == 1)

    try await load(4, 2, "fifth", at: "2026-05-05T00:00:00Z")
    #expect(await one.next?["n"] as? Int == 4)
    #expect(await all.next?.documentChanges.map(\.document.documentID) == ["one"])
    await database.close()
  }

  /// After a deletion, there is no update time left to compare with, regardless of whether a bundle or the
  /// user deleted the document.
  @Test func bundleMayRestoreADeletedDocument() async throws {
    let firestore = Firestore.memory()
    func load(_ element: [String], _ id: String) async throws -> Bool {
      try await firestore.loadBundle(Self.bundle([Self.metadata(documents: 1, id: id)] + element))
      return try await firestore.document("a/one").getDocument().exists
    }
    let old = Self.document("one", "\"n\": {\"integerValue\": \"1\"}", at: "2026-01-05T00:00:00Z")
    let gone =
      "{\"documentMetadata\": {\"name\": \"\(Self.root)/a/one\", \"readTime\": \"2026-03-05T00:00:00Z\","
      + " \"exists\": false}}"
    #expect(try await load(old, "first"))
    #expect(try await !load([gone], "second"))
    #expect(try await load(old, "third"))
    try await firestore.document("a/one").delete()
    #expect(try await load(old, "fourth"))
    try await firestore.terminate()
  }

  /// The bundle's clock is seventy years ahead. Nevertheless, a local write counts as later than the bundle's
  /// documents.
  @Test func bundleFromAClockAheadKeepsLocalWrites() async throws {
    let firestore = Firestore.memory()
    func load(_ n: Int, _ id: String, updateTime: String) async throws -> Int? {
      let document = Self.document("one", "\"n\": {\"integerValue\": \"\(n)\"}", at: updateTime)
      try await firestore.loadBundle(Self.bundle([Self.metadata(documents: 1, id: id)] + document))
      return try await firestore.document("a/one").getDocument()["n"] as? Int
    }
    #expect(try await load(1, "one", updateTime: "2096-01-01T00:00:00Z") == 1)
    for n in 2...3 { try await firestore.document("a/one").setData(["n": n]) }
    #expect(try await load(4, "two", updateTime: "2096-01-01T00:00:00Z") == 3, "the user was later")
    #expect(try await load(5, "three", updateTime: "2096-01-01T00:00:00.000001Z") == 3, "and later again")
    #expect(try await load(6, "four", updateTime: "2096-01-02T00:00:00Z") == 6)
    // The greatest timestamp has no successor. A write must succeed nevertheless.
    #expect(try await load(7, "five", updateTime: "9999-12-31T23:59:59.999999Z") == 7)
    try await firestore.document("a/one").updateData(["n": 8])
    #expect(try await firestore.document("a/one").getDocument()["n"] as? Int == 8)
    try await firestore.terminate()
  }

  @Test func observersAreNotifiedBeforeTheCompletion() async throws {
    let database = try TestDatabase()
    let log = Log()
    let data = Self.bundle(
      [Self.metadata(documents: 2)] + Self.document("one", "") + Self.document("two", ""))
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      let task = database.firestore.loadBundle(data) { progress, error in
        log.add("completion \(progress?.state.rawValue ?? -1)")
        done.resume()
      }
      task.addObserver { log.add("\($0.state.rawValue) \($0.documentsLoaded)") }
      let removed = task.addObserver { _ in log.add("removed") }
      task.removeObserverWith(handle: removed)
    }
    let lines = log.lines
    #expect(lines.suffix(2) == ["2 2", "completion 2"])
    #expect(["1 1", "1 2", "2 2", "completion 2"].suffix(lines.count) == lines[...])
    await database.close()
  }

  private static func nested(_ depth: Int) -> String {
    String(repeating: "{\"mapValue\": {\"fields\": {\"a\": ", count: depth) + "{\"nullValue\": null}"
      + String(repeating: "}}}", count: depth)
  }

  private static let broken: [[String]] = [
    [], ["{}"], [query], ["{\"metadata\": {\"id\": \"b\"}}"],
    [metadata(documents: 1)], [metadata(documents: 1), document("one", "")[1]],
    [metadata(documents: 1), document("one", "")[0]],
    [metadata(documents: 1), document("one", "")[0], document("two", "")[1]],
    [metadata(documents: 1)] + document("one", "\"n\": {\"integerValue\": \"seven\"}"),
    // Once stored, these values could not be decoded again.
    [metadata(documents: 1)] + document("one", "\"n\": \(nested(21))"),
    [metadata(documents: 1)]
      + document("one", "\"\(String(repeating: "n", count: 1501))\": {\"nullValue\": null}"),
    [metadata(documents: 0), "{\"namedQuery\": {\"name\": \"q\", \"bundledQuery\": {\"parent\": \"x\"}}}"],
    [
      metadata(documents: 0),
      query.replacingOccurrences(
        of: "\"collectionId\": \"a\"", with: "\"collectionId\": \"a\", \"allDescendants\": true"
      )
      .replacingOccurrences(of: "\"parent\": \"\(root)\"", with: "\"parent\": \"\(root)/a/one\""),
    ],
    // A query with a limit from the end needs an order.
    [metadata(documents: 0), query.replacingOccurrences(of: "\"orderBy\"", with: "\"other\"")],
  ]

  /// Guards against a bundle that takes minutes to parse because its query has thousands of orders or
  /// filters.
  @Test(arguments: [(50, 50, true), (51, 50, false), (0, 101, false), (101, 0, false)])
  func aBundleHasNoQueryOfMoreThanAHundredParts(filters: Int, orders: Int, isLoaded: Bool) async throws {
    let field = "{\"fieldPath\": \"n\"}"
    let filter = "{\"unaryFilter\": {\"op\": \"IS_NULL\", \"field\": \(field)}}"
    let query =
      "{\"namedQuery\": {\"name\": \"large\", \"readTime\": \"2026-01-02T00:00:00Z\", \"bundledQuery\": {\"parent\":"
      + " \"\(Self.root)\", \"structuredQuery\": {\"from\": [{\"collectionId\": \"a\"}], \"where\": {\"compositeFilter\":"
      + " {\"op\": \"AND\", \"filters\": [\(Array(repeating: filter, count: filters).joined(separator: ","))]}},"
      + " \"orderBy\": [\(Array(repeating: "{\"field\": \(field)}", count: orders).joined(separator: ","))]}}}}"
    let firestore = Firestore.memory()
    do {
      try await firestore.loadBundle(Self.bundle([Self.metadata(documents: 0), query]))
      #expect(isLoaded)
      #expect(await firestore.getQuery(named: "large") != nil)
    } catch FirestoreErrorCode.invalidArgument {
      #expect(!isLoaded)
    }
    try await firestore.terminate()
  }

  @Test(arguments: broken.indices) func aBrokenBundleChangesNothing(index: Int) async throws {
    let firestore = Firestore.memory()
    var data = Self.bundle(Self.broken[index])
    if index == 0 { data = Data("12{\"metadata\"".utf8) }
    do {
      try await firestore.loadBundle(data)
      Issue.record("it was loaded")
    } catch FirestoreErrorCode.invalidArgument {}
    #expect(try await firestore.collection("a").getDocuments().isEmpty)
    try await firestore.terminate()
  }

  @Test func anEmptyBundleIsAnUnknownError() async throws {
    let firestore = Firestore.memory()
    for stream in [false, true] {
      do {
        if stream {
          try await firestore.loadBundle(InputStream(data: Data()))
        } else {
          try await firestore.loadBundle(Data())
        }
        Issue.record("it was loaded")
      } catch FirestoreErrorCode.unknown {}
    }
    try await firestore.terminate()
  }

  @Test func loadedBundlesSurviveARestart() async throws {
    let database = try TestDatabase()
    try await database.firestore.loadBundle(
      Self.bundle(
        [Self.metadata(documents: 1), Self.query] + Self.document("one", "\"n\": {\"integerValue\": \"1\"}")))
    await database.restart()
    let top = try #require(await database.firestore.getQuery(named: "top"))
    #expect(try await top.getDocuments().count == 1)
    await database.close()
  }
}
