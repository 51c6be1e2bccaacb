// Arguments from outside: within `validated`, each invalid one throws with the message of its trap.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct ValidationTests {
  /// Returns the description of an unexpected result; nil if `input` was refused with its message.
  private static func fault(_ input: Input, _ firestore: Firestore) -> String? {
    do {
      _ = try firestore.validated { try input.build($0) }
      return "accepted: \(input.message ?? "")"
    } catch {
      let error = error as NSError
      let isExpected =
        error.domain == FirestoreErrorDomain && error.code == FirestoreErrorCode.invalidArgument.rawValue
        && error.localizedDescription == input.message
      return isExpected ? nil : "\(input.message ?? ""): \(error)"
    }
  }

  @Test(arguments: Input.invalid.indices) func anInvalidArgumentThrowsTheMessageOfItsTrap(index: Int) {
    #expect(Self.fault(Input.invalid[index], Firestore.memory()) == nil)
  }

  @Test func aTerminatedDatabaseAlsoValidates() async throws {
    let firestore = Firestore.memory()
    try await firestore.terminate()
    #expect(Input.invalid.compactMap { Self.fault($0, firestore) } == [])
  }

  @Test func validArgumentsAreAccepted() throws {
    let firestore = Firestore.memory()
    var refused: [String] = []
    for (index, input) in Input.valid.enumerated() {
      do { _ = try firestore.validated { try input.build($0) } } catch {
        refused.append("\(index): \(error)")
      }
    }
    #expect(refused == [])
    let expected = firestore.collection("a").order(by: "n").limit(toLast: 3)
    #expect(try firestore.validated { $0.collection("a").order(by: "n").limit(toLast: 3) } == expected)
  }

  // MARK: The scope

  @Test func theFirstInvalidArgumentIsThrown() {
    let firestore = Firestore.memory()
    let error = #expect(throws: (any Error).self) {
      try firestore.validated { firestore in
        _ = firestore.collection("").document("")
        throw CocoaError(.fileNoSuchFile)
      }
    }
    #expect(error?.localizedDescription == "Collection path cannot be empty.")
  }

  @Test func anErrorOfTheBodyIsThrownUnchanged() {
    #expect(throws: CocoaError.self) {
      try Firestore.memory().validated { _ in throw CocoaError(.fileNoSuchFile) }
    }
  }

  @Test func validationsCanBeNested() throws {
    let firestore = Firestore.memory()
    let path = try firestore.validated { outer in
      let inner = try? outer.validated { $0.document("a") }
      return inner?.path ?? outer.document("a/b").path
    }
    #expect(path == "a/b")
    #expect(throws: (any Error).self) {
      try firestore.validated { outer in
        _ = try outer.validated { $0.document("a/b") }
        return outer.document("a")
      }
    }
  }

  @Test func argumentsTrapAgainAfterAValidation() async {
    await #expect(processExitsWith: .exitCode(42)) {
      ProgrammerError.hook = { _ in exit(42) }
      let firestore = Firestore.memory()
      _ = try? firestore.validated { $0.document("a") }
      _ = firestore.document("a")
    }
  }

  @Test func argumentsOnOtherThreadsTrapDuringAValidation() async {
    await #expect(processExitsWith: .exitCode(42)) {
      ProgrammerError.hook = { _ in exit(42) }
      try Firestore.memory().validated { firestore in
        let isOver = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          _ = firestore.document("a")
          isOver.signal()
        }
        isOver.wait()
      }
    }
  }

  // MARK: Placeholders

  /// Returns the code of the error of `body`; 0 if nothing was thrown.
  private static func code(_ body: () async throws -> Void) async -> Int {
    do {
      try await body()
      return 0
    } catch { return (error as NSError).code }
  }

  /// The references and queries leave the validation although it fails.
  @Test func usesOfPlaceholdersFail() async throws {
    let firestore = Firestore.memory()
    try await firestore.document("a/b").setData(["n": 1])
    var documents: [DocumentReference] = []
    var queries: [Query] = []
    var batches: [WriteBatch] = []
    _ = try? firestore.validated { firestore in
      documents += [firestore.document("a"), firestore.collection("").document("b")]
      documents.append(firestore.collection("a").document("b/c").collection("d").document("e"))
      queries += [firestore.collection("a/b"), firestore.collectionGroup("a/b")]
      queries += [
        firestore.collection("a").limit(to: 0),
        firestore.collection("a").order(by: "n").start(at: [[[1]], 2]),
      ]
      queries.append(
        firestore.collection("a").whereField("n", in: []).whereField("n", isEqualTo: 1).order(by: "n"))
      queries.append(firestore.collection("a").whereField("n", isEqualTo: [[1]]))
      batches.append(firestore.batch().setData(["n": UInt64.max], forDocument: firestore.document("a/b")))
      batches.append(firestore.batch().deleteDocument(firestore.document("a")))
    }
    var codes: [Int] = []
    for document in documents {
      codes.append(await Self.code { try await document.getDocument() })
      codes.append(await Self.code { try await document.setData(["n": 1]) })
    }
    for query in queries { codes.append(await Self.code { try await query.getDocuments() }) }
    for batch in batches { codes.append(await Self.code { try await batch.commit() }) }
    #expect(codes == Array(repeating: FirestoreErrorCode.invalidArgument.rawValue, count: 14))
    #expect(try await firestore.document("a/b").getDocument()["n"] as? Int == 1)
    try await firestore.terminate()
  }

  @Test func noValueThatReplacesAnInvalidOneIsWritten() async throws {
    let firestore = Firestore.memory()
    let document = firestore.document("a/b")
    try await document.setData(["n": 1])
    let batch = firestore.batch()
    let scopes: [(Firestore) throws -> Void] = [
      { _ in batch.setData(["at": Timestamp(date: .distantPast)], forDocument: document) },
      { $0.document("a/b").setData(["p": GeoPoint(latitude: 91, longitude: 0)]) },
      { $0.document("a/b").updateData(["p": GeoPoint(latitude: 0, longitude: 181)]) },
      // The value of an outer scope is also refused in an inner scope.
      { outer in
        let point = GeoPoint(latitude: 91, longitude: 0)
        try outer.validated { $0.document("a/b").setData(["p": point]) }
      },
    ]
    var thrown: [Int] = []
    for scope in scopes { thrown.append(await Self.code { try firestore.validated(scope) }) }
    let invalid = FirestoreErrorCode.invalidArgument.rawValue
    #expect(thrown == Array(repeating: invalid, count: 4))
    #expect(await Self.code { try await batch.commit() } == invalid)
    #expect(try await document.getDocument().data() as? [String: Int] == ["n": 1])
    try await document.setData(["n": 2])
    #expect(try await document.getDocument()["n"] as? Int == 2)
    try await firestore.terminate()
  }

  @Test func aTransactionWithAValueThatReplacesAnInvalidOneFails() async throws {
    let firestore = Firestore.memory()
    let document = firestore.document("a/b")
    let code = await Self.code {
      _ = try await firestore.runTransaction { transaction, _ in
        try? firestore.validated { _ in
          _ = transaction.setData(["p": GeoPoint(latitude: 91, longitude: 0)], forDocument: document)
        }
        return nil
      }
    }
    #expect(code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(try await !document.getDocument().exists)
    try await firestore.terminate()
  }

  @Test func queriesWithPlaceholdersFail() async throws {
    let firestore = Firestore.memory()
    try await firestore.document("a/b").setData(["n": 1])
    let all = firestore.collection("a")
    let steps: [() -> Query] = [
      { all.whereField("a..b", isEqualTo: 1) }, { all.whereField("a..b", isNotEqualTo: 1) },
      { all.order(by: "a..b") }, { all.whereFilter(.whereField("n", isEqualTo: Alien())) },
      { all.whereField("n", isLessThan: GeoPoint(latitude: 91, longitude: 0)) },
      { all.order(by: "n").start(at: [Timestamp(date: .distantPast)]) },
    ]
    var queries: [Query] = []
    for step in steps { _ = try? firestore.validated { _ in queries.append(step()) } }
    // These filters and paths are used after their validations.
    var filters: [Filter] = []
    _ = try? firestore.validated { _ in filters.append(.whereField("n", in: [Alien()])) }
    _ = try? firestore.validated { _ in
      filters.append(.whereField("n", isEqualTo: GeoPoint(latitude: 91, longitude: 0)))
    }
    queries += filters.map { all.whereFilter(.orFilter([$0, .whereField("n", isEqualTo: 1)])) }
    var paths: [FieldPath] = []
    _ = try? firestore.validated { _ in paths.append(FieldPath([])) }
    queries += paths.map { all.order(by: $0) }
    var codes: [Int] = []
    for query in queries { codes.append(await Self.code { try await query.getDocuments() }) }
    var fields: [AggregateField] = []
    _ = try? firestore.validated { _ in fields.append(.sum("a..b")) }
    for field in fields {
      codes.append(await Self.code { try await all.aggregate([field]).getAggregation(source: .server) })
    }
    #expect(codes == Array(repeating: FirestoreErrorCode.invalidArgument.rawValue, count: 10))
    #expect(try await all.getDocuments().count == 1)
    try await firestore.terminate()
  }

  @Test func aTransactionWithAnInvalidWriteFails() async throws {
    let firestore = Firestore.memory()
    let document = firestore.document("a/b")
    await #expect(throws: (any Error).self) {
      try await firestore.runTransaction { transaction, error in
        do {
          _ = try firestore.validated { _ in transaction.setData(["n": [[1]]], forDocument: document) }
        } catch let problem as NSError {
          error?.pointee = problem
        }
        return nil
      }
    }
    #expect(try await !document.getDocument().exists)
    try await firestore.terminate()
  }

  // MARK: Calls that throw

  @Test func callsThatThrowNeedNoValidation() async throws {
    let firestore = Firestore.memory()
    var codes: [Int] = []
    codes.append(await Self.code { try await firestore.evict(collection: "", olderThan: Date()) })
    codes.append(await Self.code { try await firestore.evict(collection: "a/b", olderThan: Date()) })
    let index = FirestoreIndex("a", [.ascending("a..b")])
    codes.append(await Self.code { try await firestore.createIndex(index) })
    codes.append(await Self.code { try await firestore.dropIndex(index) })
    #expect(codes == Array(repeating: FirestoreErrorCode.invalidArgument.rawValue, count: 4))
    try await firestore.terminate()
  }
}

/// A value of a type that no document can hold.
private struct Alien: Sendable {}

/// Arguments that may come from outside.
private struct Input: Sendable {
  /// The message of the error; nil for valid arguments.
  var message: String?
  var build: @Sendable (Firestore) throws -> Any

  init(_ message: String?, _ build: @escaping @Sendable (Firestore) throws -> Any) {
    self.message = message
    self.build = build
  }

  static let invalid = paths + fields + data + filters + steps + others

  private static let paths = [
    Input("Collection path cannot be empty.") { $0.collection("") },
    Input("Collection path cannot be empty.") { $0.collection("/") },
    Input("Collection path cannot be empty.") { $0.document("a/b").collection("").document("c") },
    Input("Document path cannot be empty.") { $0.document("") },
    Input("Document path cannot be empty.") { $0.collection("a").document("") },
    Input("Collection ID cannot be empty.") { $0.collectionGroup("") },
    Input("Collection ID cannot be empty.") { $0.collectionGroup("").count },
    Input("Invalid path (a//b). Paths must not contain // in them.") { $0.document("a//b") },
    Input(
      "Invalid collection reference. Collection references must have an odd number of segments, but a/b has 2"
    ) { $0.collection("a/b") },
    Input(
      "Invalid document reference. Document references must have an even number of segments, but a/b/c has 3"
    ) { $0.collection("a").document("b/c") },
    Input("Invalid collection ID (a/b). Collection IDs must not contain / in them.") {
      $0.collectionGroup("a/b")
    },
    // These arguments do not trap. Their first use would fail.
    Input("The path \"a/__b__\" is not valid: names like \"__b__\" are reserved.") {
      $0.collection("a").document("__b__")
    },
    Input("The path \"a/.\" is not valid: \".\" is not a name.") {
      [$0.document("a/b"), $0.document("a/.")]
    },
    Input("The path \"__a__\" is not valid: names like \"__a__\" are reserved.") { $0.collection("__a__") },
  ]

  private static let fields = [
    Input("Invalid field path (a[0]). Paths must not contain '~', '*', '/', '[', or ']'") {
      $0.collection("a").whereField("a[0]", isEqualTo: 1)
    },
    Input("Invalid field path (a..b). Paths must not be empty, begin with '.', end with '.', or contain '..'")
    {
      $0.collection("a").order(by: "a..b")
    },
    Input("Invalid field path (). Paths must not be empty, begin with '.', end with '.', or contain '..'") {
      Self.update($0, ["": 1])
    },
    Input("Invalid field path (.a). Paths must not be empty, begin with '.', end with '.', or contain '..'") {
      $0.collection("a").aggregate([.sum(".a")])
    },
    Input("Invalid field path. Provided names must not be empty.") { _ in FieldPath([]) },
    Input("Invalid field name at index 1. Field names must not be empty.") { _ in FieldPath(["a", ""]) },
    Input("Dictionary keys in updateData: must be NSStrings or FIRFieldPaths.") { Self.update($0, [1: 1]) },
    Input("All elements in mergeFields: must be NSStrings or FIRFieldPaths.") {
      $0.batch().setData(["a": 1], forDocument: $0.document("a/b"), mergeFields: [1])
    },
    Input("Field 'b' is specified in your field mask but missing from your input data.") {
      $0.batch().setData(["a": 1], forDocument: $0.document("a/b"), mergeFields: ["a", "b"])
    },
  ]

  private static func set(_ firestore: Firestore, _ fields: [String: Any]) -> WriteBatch {
    firestore.batch().setData(fields, forDocument: firestore.document("a/b"))
  }

  private static func update(_ firestore: Firestore, _ fields: [AnyHashable: Any]) -> WriteBatch {
    firestore.batch().updateData(fields, forDocument: firestore.document("a/b"))
  }

  private static let data = [
    Input("Invalid data. Document fields must not be empty (found in field m.``)") {
      Self.set($0, ["m": ["": 1]])
    },
    Input("Invalid data. Document fields cannot begin and end with \"__\" (found in field __x__)") {
      Self.set($0, ["__x__": 1])
    },
    Input("Invalid data. Document fields cannot begin and end with \"__\" (found in field a.__x__)") {
      Self.update($0, ["a.__x__": 1])
    },
    Input("NSNumber (18446744073709551615) is too large (found in field n)") {
      Self.set($0, ["n": UInt64.max])
    },
    Input("NSNumber (9223372036854775808) is too large") {
      Self.update($0, ["n": FieldValue.arrayUnion([UInt64(1) << 63])])
    },
    Input("Nested arrays are not supported") { Self.set($0, ["n": [[1]]]) },
    Input("Unsupported type: Alien (found in field m.n)") { Self.set($0, ["m": ["n": Alien()]]) },
    Input("Timestamp seconds out of range: -62135769600 (found in field t)") {
      Self.set($0, ["t": Date.distantPast])
    },
    Input("Timestamp seconds out of range: nan (found in field t)") {
      Self.set($0, ["t": Date(timeIntervalSince1970: .nan)])
    },
    Input("Timestamp seconds out of range: -62135769600") { _ in Timestamp(date: .distantPast) },
    Input("Timestamp seconds out of range: 253402300800") { _ in
      Timestamp(seconds: 253_402_300_800, nanoseconds: 0)
    },
    Input("Timestamp nanoseconds out of range: -1") { _ in Timestamp(seconds: 0, nanoseconds: -1) },
    Input("GeoPoint requires a latitude value in the range of [-90, 90], but was 90.5") { _ in
      GeoPoint(latitude: 90.5, longitude: 0)
    },
    Input("GeoPoint requires a longitude value in the range of [-180, 180], but was nan") { _ in
      GeoPoint(latitude: 0, longitude: .nan)
    },
    Input(
      "FieldValue.delete() can only be used with updateData() and setData() with merge:true (found in field n)"
    ) {
      Self.set($0, ["n": FieldValue.delete()])
    },
    Input("Provided document reference is from a different Cloud Firestore instance.") {
      $0.batch().deleteDocument(Firestore.memory().document("a/b"))
    },
    Input("Maps and arrays may be nested 20 deep") {
      Self.set($0, ["m": Self.nested(1000)])
    },
  ]

  /// Returns maps nested to this depth.
  private static func nested(_ depth: Int) -> NSDictionary {
    (0..<depth).reduce(NSDictionary()) { inner, _ in NSDictionary(dictionary: ["m": inner]) }
  }

  private static let filters = [
    Input("Invalid Query. A non-empty array is required for 'in' filters.") {
      $0.collection("a").whereField("n", in: [])
    },
    Input("Invalid Query. A non-empty array is required for 'arrayContainsAny' filters.") {
      $0.collection("a").whereFilter(
        .orFilter([.whereField("n", arrayContainsAny: []), .whereField("m", in: [1])]))
    },
    Input("Invalid Query. You cannot use 'notIn' filters with 'notEqual' filters.") {
      $0.collection("a").whereField("n", isNotEqualTo: 1).whereField("m", notIn: [2])
    },
    Input("Invalid Query. You cannot use 'notEqual' filters with 'notIn' filters.") {
      $0.collection("a").whereField("n", notIn: [1]).whereField("m", isNotEqualTo: 2).order(by: "n").limit(
        to: 5)
    },
    Input("Nested arrays are not supported") { $0.collection("a").whereField("n", isEqualTo: [[1]]) },
    Input("NSNumber (18446744073709551615) is too large") {
      $0.collection("a").whereField("n", isLessThan: UInt64.max)
    },
    Input("Timestamp seconds out of range: -62135769600") {
      $0.collection("a").whereField("t", isGreaterThan: Date.distantPast)
    },
    Input(
      "Invalid query. When querying by document ID you must provide a valid document ID, but it was an empty "
        + "string."
    ) { $0.collection("a").whereField(FieldPath.documentID(), isEqualTo: "") },
    Input(
      "Invalid query. When querying a collection by document ID you must provide a plain document ID, but "
        + "'b/c' contains a '/' character."
    ) { $0.collection("a").whereField(FieldPath.documentID(), in: ["b", "b/c"]) },
    Input(
      "Invalid query. When querying by document ID you must provide a valid string or DocumentReference, but "
        + "it was of type: Int"
    ) { $0.collection("a").whereField(FieldPath.documentID(), notIn: ["b", 1]) },
  ]

  private static let steps = [
    Input("Invalid Query. Query limit (0) is invalid. Limit must be positive.") {
      $0.collection("a").limit(to: 0)
    },
    Input("Invalid Query. Query limit (-1) is invalid. Limit must be positive.") {
      $0.collection("a").order(by: "n").limit(toLast: -1)
    },
    Input("limit(toLast:) queries require specifying at least one OrderBy() clause.") {
      $0.collection("a").limit(toLast: 1)
    },
    Input("limit(toLast:) queries require specifying at least one OrderBy() clause.") {
      $0.collection("a").limit(toLast: 1).count
    },
    Input("limit(toLast:) queries require specifying at least one OrderBy() clause.") {
      $0.collection("a").typed([String: Int].self).limit(toLast: 1)
    },
    Input(
      "Invalid query. You are trying to start or end a query using more values than were specified in the "
        + "order by."
    ) { $0.collection("a").order(by: "n").start(after: [1, 2]) },
    Input("Invalid query. You must not specify a starting point before specifying the order by.") {
      $0.collection("a").order(by: "n").start(at: [1]).order(by: "m")
    },
    Input(
      "Invalid query. When querying a collection and ordering by document ID, you must pass a plain document "
        + "ID, but 'b/c' contains a slash."
    ) { $0.collection("a").order(by: FieldPath.documentID()).end(at: ["b/c"]) },
    Input("Unsupported type: Alien") { $0.collection("a").order(by: "n").end(before: [Alien()]) },
  ]

  private static let others = [
    Input("Invalid page size: 0") { $0.documents(in: $0.collection("a"), pageSize: 0) },
    Input("Provided query is from a different Cloud Firestore instance.") {
      $0.documents(in: Firestore.memory().collection("a"))
    },
    Input("Invalid maxAttempts: 0") { _ in
      let options = TransactionOptions()
      options.maxAttempts = 0
      return options
    },
    Input("Cache size must be set to at least 1048576 bytes") { _ in PersistentCacheSettings(sizeBytes: 1) },
    Input("A write batch can no longer be used after commit has been called.") {
      let batch = $0.batch()
      batch.commit(completion: nil)
      return batch.deleteDocument($0.document("a/b"))
    },
  ]

  static let valid = [
    Input(nil) { $0.collection("a").document("b") },
    Input(nil) { $0.document("/a/b/") },
    Input(nil) { $0.collection("a").document("b/c/d") },
    Input(nil) {
      $0.collection("a").whereField(FieldPath(["a..b"]), isEqualTo: [1]).whereField("n", notIn: [1, "x"])
    },
    Input(nil) { $0.collection("a").order(by: "n").start(at: [1]).limit(toLast: 3) },
    Input(nil) { $0.collectionGroup("a").whereField(FieldPath.documentID(), isEqualTo: "a/b") },
    Input(nil) {
      $0.collection("a").whereFilter(.orFilter([.whereField("n", in: [1]), .whereField("m", isEqualTo: 2)]))
    },
    Input(nil) { $0.collection("a").aggregate([.count(), .sum("n"), .average(FieldPath(["a", "b"]))]) },
    Input(nil) { Self.set($0, ["n": Int64.max, "u": UInt64(1) << 62, "t": Date(), "l": [["m": [1]]]]) },
    Input(nil) {
      Self.update($0, ["a.b": FieldValue.delete(), FieldPath(["c"]): FieldValue.arrayUnion([1])])
    },
    Input(nil) { _ in [GeoPoint(latitude: -90, longitude: 180)] },
    Input(nil) { _ in Timestamp(seconds: 253_402_300_799, nanoseconds: 999_999_999) },
  ]
}
