// Calls that no correct program makes. Each prints its message and ends the program.

import FirebaseFirestore
import Foundation

struct Misuse: Sendable {
  var message: String
  var call: @Sendable (Firestore) async throws -> Void

  init(_ message: String, _ call: @escaping @Sendable (Firestore) async throws -> Void) {
    self.message = message
    self.call = call
  }

  static let all: [Misuse] =
    paths + fieldPaths + data + writes + filters + documentIDs + orders + cursors + reads + migrations
    + lifecycle

  // MARK: Paths

  private static let paths = [
    Misuse("Collection path cannot be empty.") { _ = $0.collection("") },
    Misuse("Collection path cannot be empty.") { _ = $0.document("a/b").collection("") },
    Misuse("Document path cannot be empty.") { _ = $0.document("") },
    Misuse("Document path cannot be empty.") { _ = $0.collection("a").document("") },
    Misuse("Collection ID cannot be empty.") { _ = $0.collectionGroup("") },
    Misuse("Invalid path (a//b). Paths must not contain // in them.") { _ = $0.document("a//b") },
    Misuse(
      "Invalid collection reference. Collection references must have an odd number of segments, but a/b has 2"
    ) { _ = $0.collection("a/b") },
    Misuse(
      "Invalid document reference. Document references must have an even number of segments, but a/b/c has 3"
    ) { _ = $0.collection("a").document("b/c") },
    Misuse("Invalid collection ID (a/b). Collection IDs must not contain / in them.") {
      _ = $0.collectionGroup("a/b")
    },
  ]

  private static let fieldPaths = [
    Misuse("Invalid field path (a[0]). Paths must not contain '~', '*', '/', '[', or ']'") {
      _ = $0.collection("a").whereField("a[0]", isEqualTo: 1)
    },
    Misuse(
      "Invalid field path (a..b). Paths must not be empty, begin with '.', end with '.', or contain '..'"
    ) { _ = $0.collection("a").order(by: "a..b") },
    Misuse(
      "Invalid field path (). Paths must not be empty, begin with '.', end with '.', or contain '..'"
    ) { $0.document("a/b").updateData(["": 1], completion: nil) },
    Misuse("Invalid field path. Provided names must not be empty.") { _ in _ = FieldPath([]) },
    Misuse("Invalid field name at index 1. Field names must not be empty.") { _ in
      _ = FieldPath(["a", ""])
    },
    Misuse("Subscript key must be an NSString or FIRFieldPath.") {
      _ = try await $0.document("a/b").getDocument().get(1)
    },
    Misuse("Subscript key must be an NSString or FIRFieldPath.") {
      _ = try await $0.document("a/b").getDocument()[NSNumber(value: 1)]
    },
  ]

  // MARK: Data

  private final class Alien: NSObject, Sendable {}

  private static let data = [
    Misuse("Invalid data. Document fields must not be empty (found in field m.``)") {
      $0.document("a/b").setData(["m": ["": 1]], completion: nil)
    },
    Misuse("Invalid data. Document fields cannot begin and end with \"__\" (found in field __n__)") {
      $0.document("a/b").setData(["__n__": 1], completion: nil)
    },
    Misuse("Invalid data. Document fields cannot begin and end with \"__\" (found in field __name__)") {
      $0.document("a/b").updateData([FieldPath.documentID(): 1], completion: nil)
    },
    Misuse(
      "Invalid data. Document fields cannot begin and end with \"__\" (found in field __baz__.foo)"
    ) { $0.document("a/b").updateData(["__baz__.foo": 1], completion: nil) },
    Misuse(
      "Invalid data. Document fields cannot begin and end with \"__\" (found in field foo.__baz__.`a b`)"
    ) { $0.document("a/b").updateData([FieldPath(["foo", "__baz__", "a b"]): 1], completion: nil) },
    Misuse("Invalid data. Document fields cannot begin and end with \"__\" (found in field foo.__baz__)") {
      $0.document("a/b").updateData(["foo": ["__baz__": ["m": 1]]], completion: nil)
    },
    Misuse("NSNumber (9223372036854775808) is too large (found in field n)") {
      $0.document("a/b").setData(["n": UInt64(1) << 63], completion: nil)
    },
    Misuse("Nested arrays are not supported") {
      $0.document("a/b").setData(["n": [[1]]], completion: nil)
    },
    Misuse("FieldValue.serverTimestamp() is not currently supported inside arrays") {
      $0.document("a/b").setData(["n": [FieldValue.serverTimestamp()]], completion: nil)
    },
    Misuse("FieldValue.increment() is not currently supported inside arrays") {
      $0.document("a/b").updateData(["n": [["m": FieldValue.increment(1)]]], completion: nil)
    },
    // An element of an array transform is an argument and not part of the written data.
    Misuse("FieldValue.increment() can only be used with updateData() and setData()") {
      $0.document("a/b").updateData(["n": FieldValue.arrayUnion([FieldValue.increment(1)])], completion: nil)
    },
    Misuse("FieldValue.delete() can only be used with updateData() and setData()") {
      $0.document("a/b").setData(["n": FieldValue.arrayRemove([["m": FieldValue.delete()]])], completion: nil)
    },
    Misuse("Nested arrays are not supported") {
      $0.document("a/b").updateData(["n": FieldValue.arrayUnion([[1]])], completion: nil)
    },
    Misuse("Unsupported type: Alien") {
      $0.document("a/b").updateData(["n": FieldValue.arrayUnion([Alien()])], completion: nil)
    },
    Misuse("Unsupported type: Alien") {
      $0.document("a/b").setData(["n": FieldValue.arrayRemove([["m": Alien()]])], completion: nil)
    },
    Misuse("NSNumber (9223372036854775808) is too large") {
      $0.document("a/b").updateData(["n.m": FieldValue.arrayRemove([UInt64(1) << 63])], completion: nil)
    },
    Misuse("Timestamp seconds out of range: -62135769600") {
      $0.document("a/b").setData(["n": FieldValue.arrayUnion([["t": Date.distantPast]])], completion: nil)
    },
    Misuse("Document Reference is for database other/(default) but should be for database dugout/(default)") {
      $0.document("a/b").updateData(
        ["n": FieldValue.arrayUnion([["r": other.document("a/b")]])], completion: nil)
    },
    Misuse("Unsupported type: Alien (found in field m.n)") {
      $0.document("a/b").setData(["m": ["n": Alien()]], completion: nil)
    },
    Misuse(
      "Document Reference is for database other/(default) but should be for database dugout/(default) "
        + "(found in field r)"
    ) { $0.document("a/b").setData(["r": other.document("a/b")], completion: nil) },
    Misuse("GeoPoint requires a latitude value in the range of [-90, 90], but was 90.5") { _ in
      _ = GeoPoint(latitude: 90.5, longitude: 0)
    },
    Misuse("GeoPoint requires a longitude value in the range of [-180, 180], but was -181.0") { _ in
      _ = GeoPoint(latitude: 0, longitude: -181)
    },
    Misuse("GeoPoint requires a latitude value in the range of [-90, 90], but was nan") { _ in
      _ = GeoPoint(latitude: .nan, longitude: 0)
    },
  ]

  /// A database of another project.
  private static let other: Firestore = {
    let options = FirebaseOptions(directory: FileManager.default.temporaryDirectory)
    options.projectID = "other"
    FirebaseApp.configure(name: "other", options: options)
    guard let app = FirebaseApp.app(name: "other") else { preconditionFailure("the app was just made") }
    return Firestore.firestore(app: app)
  }()

  private static let writes = [
    Misuse(
      "FieldValue.delete() can only be used with updateData() and setData() with merge:true (found in field n)"
    ) { $0.document("a/b").setData(["n": FieldValue.delete()], completion: nil) },
    Misuse(
      "FieldValue.delete() can only appear at the top level of your update data (found in field m.n)"
    ) { $0.document("a/b").updateData(["m": ["n": FieldValue.delete()]], completion: nil) },
    Misuse("Field 'b' is specified in your field mask but missing from your input data.") {
      $0.document("a/b").setData(["a": 1], mergeFields: ["a", "b"], completion: nil)
    },
    Misuse("All elements in mergeFields: must be NSStrings or FIRFieldPaths.") {
      $0.document("a/b").setData(["a": 1], mergeFields: [1], completion: nil)
    },
    Misuse("Dictionary keys in updateData: must be NSStrings or FIRFieldPaths.") {
      $0.document("a/b").updateData([1: 1], completion: nil)
    },
    Misuse("A write batch can no longer be used after commit has been called.") {
      let batch = $0.batch()
      batch.commit(completion: nil)
      batch.deleteDocument($0.document("a/b"))
    },
    Misuse("A write batch can no longer be used after commit has been called.") {
      let batch = $0.batch()
      batch.commit(completion: nil)
      batch.commit(completion: nil)
    },
    Misuse("Provided document reference is from a different Cloud Firestore instance.") {
      $0.batch().setData(["a": 1], forDocument: other.document("a/b"))
    },
  ]

  // MARK: Queries

  private static let filters = [
    Misuse("Invalid Query. A non-empty array is required for 'in' filters.") {
      _ = $0.collection("a").whereField("n", in: [])
    },
    Misuse("Invalid Query. A non-empty array is required for 'notIn' filters.") {
      _ = $0.collection("a").whereField("n", notIn: [])
    },
    Misuse("Invalid Query. A non-empty array is required for 'arrayContainsAny' filters.") {
      _ = $0.collection("a").whereField("n", arrayContainsAny: [])
    },
    Misuse("Invalid Query. You cannot use more than one 'notEqual' filter.") {
      _ = $0.collection("a").whereField("n", isNotEqualTo: 1).whereField("m", isNotEqualTo: 2)
    },
    Misuse("Invalid Query. You cannot use more than one 'notIn' filter.") {
      _ = $0.collection("a").whereField("n", notIn: [1]).whereField("m", notIn: [2])
    },
    Misuse("Invalid Query. You cannot use 'notEqual' filters with 'notIn' filters.") {
      _ = $0.collection("a").whereField("n", notIn: [1]).whereField("m", isNotEqualTo: 2)
    },
    Misuse("Invalid Query. You cannot use 'notIn' filters with 'notEqual' filters.") {
      _ = $0.collection("a").whereField("n", isNotEqualTo: 1).whereField("m", notIn: [2])
    },
    Misuse("Invalid Query. You cannot use 'notIn' filters with 'in' filters.") {
      _ = $0.collection("a").whereField("n", in: [1]).whereField("m", notIn: [2])
    },
    Misuse("Invalid Query. You cannot use 'notIn' filters with 'arrayContainsAny' filters.") {
      _ = $0.collection("a").whereField("n", arrayContainsAny: [1]).whereField("m", notIn: [2])
    },
    Misuse("Invalid Query. You cannot use 'in' filters with 'notIn' filters.") {
      _ = $0.collection("a").whereFilter(
        .andFilter([.whereField("n", notIn: [1]), .whereField("m", in: [2])]))
    },
    Misuse("Invalid Query. You cannot use 'arrayContainsAny' filters with 'notIn' filters.") {
      _ = $0.collection("a").whereField("n", notIn: [1]).whereFilter(
        .orFilter([.whereField("m", isEqualTo: 1), .whereField("m", arrayContainsAny: [2])]))
    },
    // This check also applies to a query that exceeds the maximum number of parts.
    Misuse("Invalid Query. You cannot use 'notIn' filters with 'notEqual' filters.") {
      let query = $0.collection("a").whereField("n", isNotEqualTo: 1)
      _ = (0..<200).reduce(query) { query, n in query.whereField("m", isEqualTo: n) }
        .whereField("m", notIn: [2])
    },
    Misuse("Invalid Query. You cannot use more than one 'notEqual' filter.") {
      let query = (0..<200).reduce($0.collection("a") as Query) { query, n in
        query.whereField("m", isEqualTo: n)
      }
      _ = query.whereField("n", isNotEqualTo: 1).whereField("n", isNotEqualTo: 2)
    },
    Misuse("Invalid Query. A non-empty array is required for 'in' filters.") {
      let filters = (0..<200).map { Filter.whereField("m", isEqualTo: $0) }
      _ = $0.collection("a").whereFilter(.andFilter(filters + [.whereField("m", in: [])]))
    },
    Misuse("FieldValue.delete() can only be used with updateData() and setData()") {
      _ = $0.collection("a").whereField("n", isEqualTo: FieldValue.delete())
    },
    Misuse("FieldValue.serverTimestamp() can only be used with updateData() and setData()") {
      _ = $0.collection("a").whereField("n", in: [1, FieldValue.serverTimestamp()])
    },
    Misuse("FieldValue.increment() can only be used with updateData() and setData()") {
      _ = $0.collection("a").whereField("n", notIn: [["m": FieldValue.increment(1)]])
    },
    Misuse("FieldValue.delete() can only be used with updateData() and setData() (found in field m)") {
      _ = $0.collection("a").whereField("n", isEqualTo: ["m": FieldValue.delete()])
    },
    Misuse("FieldValue.delete() can only be used with updateData() and setData() (found in field m.`a b`)") {
      _ = $0.collection("a").whereFilter(
        .orFilter([.whereField("n", isLessThan: ["m": ["a b": FieldValue.delete()]])]))
    },
    Misuse("Invalid data. Document fields must not be empty (found in field m.``)") {
      _ = $0.collection("a").whereField("n", isEqualTo: ["m": ["": 1]])
    },
    Misuse("FieldValue.delete() can only be used with updateData() and setData()") {
      _ = $0.collection("a").whereField("n", arrayContainsAny: [FieldValue.delete()])
    },
    Misuse("FieldValue.delete() can only be used with updateData() and setData()") {
      _ = $0.collection("a").whereField("n", isEqualTo: [["m": FieldValue.delete()]])
    },
    Misuse("Nested arrays are not supported") {
      _ = $0.collection("a").whereField("n", isEqualTo: [[1]])
    },
    Misuse("Nested arrays are not supported") {
      _ = $0.collection("a").whereField("n", arrayContainsAny: [[1]])
    },
    Misuse(
      "Document Reference is for database other/(default) but should be for database dugout/(default)"
    ) { _ = $0.collection("a").whereField("n", isEqualTo: other.document("a/b")) },
  ]

  private static let documentIDs = [
    Misuse(
      "Invalid query. You can't perform arrayContains queries on document ID since document IDs are not arrays."
    ) { _ = $0.collection("a").whereField(FieldPath.documentID(), arrayContains: "b") },
    Misuse(
      "Invalid query. You can't perform arrayContainsAny queries on document ID since document IDs are not "
        + "arrays."
    ) { _ = $0.collection("a").whereField(FieldPath.documentID(), arrayContainsAny: ["b"]) },
    Misuse(
      "Invalid query. When querying by document ID you must provide a valid document ID, but it was an empty "
        + "string."
    ) { _ = $0.collection("a").whereField(FieldPath.documentID(), isEqualTo: "") },
    Misuse(
      "Invalid query. When querying a collection by document ID you must provide a plain document ID, but "
        + "'b/c' contains a '/' character."
    ) { _ = $0.collection("a").whereField(FieldPath.documentID(), in: ["b", "b/c"]) },
    Misuse(
      "Invalid query. When querying a collection group by document ID, the value provided must result in a "
        + "valid document path, but 'b' is not because it has an odd number of segments."
    ) { _ = $0.collectionGroup("a").whereField(FieldPath.documentID(), isGreaterThan: "b") },
    Misuse(
      "Invalid query. When querying by document ID you must provide a valid string or DocumentReference, but "
        + "it was of type: Int"
    ) { _ = $0.collection("a").whereField(FieldPath.documentID(), notIn: ["b", 1]) },
  ]

  private static let orders = [
    Misuse("Invalid query. You must not specify a starting point before specifying the order by.") {
      _ = $0.collection("a").order(by: "n").start(at: [1]).order(by: "m")
    },
    Misuse("Invalid query. You must not specify a starting point before specifying the order by.") {
      let query = (0..<200).reduce($0.collection("a") as Query) { query, n in query.order(by: "f\(n)") }
      _ = query.start(at: [1]).order(by: "m")
    },
    Misuse("Invalid query. You must not specify an ending point before specifying the order by.") {
      _ = $0.collection("a").order(by: "n").end(before: [1]).order(by: "m")
    },
    Misuse("Invalid Query. Query limit (0) is invalid. Limit must be positive.") {
      _ = $0.collection("a").limit(to: 0)
    },
    Misuse("Invalid Query. Query limit (-1) is invalid. Limit must be positive.") {
      _ = $0.collection("a").limit(toLast: -1)
    },
    Misuse("limit(toLast:) queries require specifying at least one OrderBy() clause.") {
      $0.collection("a").limit(toLast: 1).getDocuments { _, _ in }
    },
    Misuse("limit(toLast:) queries require specifying at least one OrderBy() clause.") {
      $0.collection("a").limit(toLast: 1).count.getAggregation(source: .server) { _, _ in }
    },
  ]

  private static let cursors = [
    Misuse(
      "Invalid query. You are trying to start or end a query using more values than were specified in the "
        + "order by."
    ) { _ = $0.collection("a").order(by: "n").start(after: [1, 2]) },
    Misuse(
      "Invalid query. You are trying to start or end a query using more values than were specified in the "
        + "order by."
    ) {
      let query = (0..<200).reduce($0.collection("a") as Query) { query, n in query.order(by: "f\(n)") }
      _ = query.start(at: Array(0..<201))
    },
    Misuse("Invalid query. You are trying to start or end a query using a document that doesn't exist.") {
      _ = $0.collection("a").end(atDocument: try await $0.document("a/b").getDocument())
    },
    Misuse(
      "Invalid query. You are trying to start or end a query using a document for which the field 'n.m' (used "
        + "as the order by) does not exist."
    ) {
      try await $0.document("a/b").setData(["n": 1])
      _ = $0.collection("a").order(by: "n.m").start(atDocument: try await $0.document("a/b").getDocument())
    },
    Misuse(
      "Invalid query. You are trying to start or end a query using a document for which the field 'n.t' is an "
        + "uncommitted server timestamp. (Since the value of this field is unknown, you cannot start/end a query "
        + "with it.)"
    ) { _ in
      let firestore = try RemoteDatabase(acknowledgement: .local).firestore
      try await firestore.disableNetwork()
      let document = firestore.document("a/b")
      try await document.setData(["n": ["t": FieldValue.serverTimestamp()]])
      let snapshot = try await document.getDocument(source: .cache)
      _ = firestore.collection("a").order(by: "n.t").start(atDocument: snapshot)
    },
    Misuse("Invalid query. Expected a string for the document ID.") {
      _ = $0.collection("a").order(by: FieldPath.documentID()).start(at: [1])
    },
    Misuse(
      "Invalid query. When querying a collection and ordering by document ID, you must pass a plain document "
        + "ID, but 'b/c' contains a slash."
    ) { _ = $0.collection("a").order(by: FieldPath.documentID()).end(at: ["b/c"]) },
    Misuse(
      "Invalid query. When querying a collection group and ordering by document ID, you must pass a value that "
        + "results in a valid document path, but 'b' is not because it contains an odd number of segments."
    ) { _ = $0.collectionGroup("a").order(by: FieldPath.documentID()).start(after: ["b"]) },
    Misuse("FieldValue.serverTimestamp() can only be used with updateData() and setData()") {
      _ = $0.collection("a").order(by: "n").start(at: [FieldValue.serverTimestamp()])
    },
    Misuse(
      "FieldValue.serverTimestamp() can only be used with updateData() and setData() (found in field m)"
    ) { _ = $0.collection("a").order(by: "n").end(at: [["m": FieldValue.serverTimestamp()]]) },
  ]

  private static let reads = [
    Misuse(
      "To include metadata changes with your document changes, you must call "
        + "addSnapshotListener(includeMetadataChanges:true)."
    ) {
      let events = Events<QuerySnapshot>()
      _ = $0.collection("a").addSnapshotListener(events.add)
      _ = await events.next?.documentChanges(includeMetadataChanges: true)
    },
    Misuse("limit(toLast:) queries require specifying at least one OrderBy() clause.") {
      _ = $0.collection("a").limit(toLast: 1).addSnapshotListener { _, _ in }
    },
    Misuse("'sum(foo)' was not requested in the aggregation query.") {
      _ = try await $0.collection("a").count.getAggregation(source: .server).get(.sum("foo"))
    },
    Misuse("'avg(n)' was not requested in the aggregation query.") {
      _ = try await $0.collection("a").count.getAggregation(source: .server).get(.average("n"))
    },
    Misuse("'count()' was not requested in the aggregation query.") {
      _ = try await $0.collection("a").aggregate([.average("n")]).getAggregation(source: .server).count
    },
    Misuse("Invalid page size: 0") { _ = $0.documents(in: $0.collection("a"), pageSize: 0) },
    Misuse("Provided query is from a different Cloud Firestore instance.") {
      _ = $0.documents(in: other.collection("a"))
    },
  ]

  // MARK: Migrations

  private static let migrations = [
    Misuse("The name of a migration must not be empty.") { _ in
      var migrator = Migrator()
      migrator.registerMigration("") { _ in }
    },
    Misuse("The migration \"a\" is registered twice.") {
      var migrator = Migrator()
      migrator.registerMigration("a") { _ in }
      migrator.registerPagedMigration("a", over: $0.collection("a")) { _, _ in }
    },
    Misuse("Invalid page size: 0") {
      var migrator = Migrator()
      migrator.registerPagedMigration("a", over: $0.collection("a"), pageSize: 0) { _, _ in }
    },
    Misuse("A paged migration cannot use limit(toLast:).") {
      var migrator = Migrator()
      migrator.registerPagedMigration("a", over: $0.collection("a").order(by: "n").limit(toLast: 1)) { _, _ in
      }
    },
    Misuse("Provided query is from a different Cloud Firestore instance.") {
      var migrator = Migrator()
      migrator.registerPagedMigration("a", over: other.collection("a")) { _, _ in }
      try await migrator.migrate($0)
    },
    Misuse("A write batch can no longer be used after commit has been called.") {
      try await $0.document("a/b").setData([:])
      var migrator = Migrator()
      migrator.registerPagedMigration("a", over: $0.collection("a")) { batch, _ in try await batch.commit() }
      try await migrator.migrate($0)
    },
  ]

  private static let lifecycle = [
    Misuse("Cache size must be set to at least 1048576 bytes") { _ in
      _ = PersistentCacheSettings(sizeBytes: 1_048_575)
    },
    Misuse("Cache size must be set to at least 1048576 bytes") { _ in
      _ = MemoryLRUGCSettings(sizeBytes: 0)
    },
    Misuse("Cannot set cacheSettings together with isPersistenceEnabled or cacheSizeBytes.") { _ in
      let settings = FirestoreSettings()
      settings.cacheSettings = MemoryCacheSettings()
      (settings as any OldSettings).isPersistenceEnabled = true
    },
    Misuse("You can't set the 'sslEnabled' setting to false unless you also set a non-default 'host'.") {
      let settings = $0.settings
      settings.isSSLEnabled = false
      $0.settings = settings
      _ = try await $0.document("a/b").getDocument()
    },
    Misuse("Invalid maxAttempts: 0") { _ in TransactionOptions().maxAttempts = 0 },
    Misuse("A transaction object cannot be used after its update callback has been invoked.") { firestore in
      let kept = try await firestore.runTransaction { transaction, _ in transaction } as? Transaction
      kept?.deleteDocument(firestore.document("a/b"))
    },
    Misuse(
      "Failed to get FirebaseApp instance. Please call FirebaseApp.configure() before using Firestore"
    ) { _ in _ = Firestore.firestore() },
    Misuse("Default app has already been configured.") { firestore in
      for _ in 0..<2 { FirebaseApp.configure(options: firestore.app.options) }
    },
    Misuse("App named second has already been configured.") { firestore in
      for _ in 0..<2 { FirebaseApp.configure(name: "second", options: firestore.app.options) }
    },
    Misuse("Timestamp seconds out of range: -62135769600 (found in field a.b)") {
      try await $0.document("a/b").setData(["a": ["b": Date.distantPast]])
    },
    Misuse(
      "Firestore instance has already been started and its settings can no longer be changed. You can only set "
        + "settings before calling any other methods on a Firestore instance."
    ) {
      try await $0.document("a/b").setData(["n": 1])
      let settings = $0.settings
      settings.dispatchQueue = DispatchQueue(label: "another")
      $0.settings = settings
    },
  ]
}

/// Declares the deprecated member, so that tests can use it without a warning.
private protocol OldSettings: AnyObject {
  var isPersistenceEnabled: Bool { get set }
}

extension FirestoreSettings: OldSettings {}
