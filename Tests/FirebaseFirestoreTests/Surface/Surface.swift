// Code written for Firebase that uses every member of the API. It is compiled but never run.
//
// This target compiles it in Swift 6 mode, and RepositoryTests compile it in Swift 5 mode as well.

import FirebaseFirestore
import Foundation

enum Surface {
  struct City: Codable {
    @DocumentID var id: String?
    @ServerTimestamp var updated: Date?
    @ExplicitNull var mayor: String?
    var name: String
    var place: GeoPoint?
    var twin: DocumentReference?
  }

  // MARK: 1.1 Firestore

  static func databases(app: FirebaseApp) {
    let firestore = Firestore.firestore()
    _ = Firestore.firestore(app: app)
    _ = Firestore.firestore(database: "other")
    let other = Firestore.firestore(app: app, database: "other")
    other.settings = firestore.settings
    let _: FirebaseApp = firestore.app
    firestore.persistentCacheIndexManager?.enableIndexAutoCreation()
    firestore.persistentCacheIndexManager?.disableIndexAutoCreation()
    firestore.persistentCacheIndexManager?.deleteAllIndexes()
    let _: CollectionReference = firestore.collection("cities")
    let _: DocumentReference = firestore.document("cities/tokyo")
    let _: Query = firestore.collectionGroup("landmarks")
    let _: WriteBatch = firestore.batch()
    Firestore.enableLogging(true)
    firestore.useEmulator(withHost: "localhost", port: 8080)
    firestore.enableNetwork { error in print(error as Any) }
    firestore.disableNetwork { error in print(error as Any) }
    firestore.clearPersistence { error in print(error as Any) }
    firestore.waitForPendingWrites { error in print(error as Any) }
    firestore.terminate { error in print(error as Any) }
    firestore.terminate(completion: nil)
    let registration = firestore.addSnapshotsInSyncListener { print("in sync") }
    registration.remove()
  }

  static func databasesInTasks(_ firestore: Firestore) async throws {
    try await firestore.enableNetwork()
    try await firestore.disableNetwork()
    try await firestore.waitForPendingWrites()
    try await firestore.terminate()
    try await firestore.clearPersistence()
  }

  static func transactions(_ firestore: Firestore, _ document: DocumentReference) async throws {
    let block = { (transaction: Transaction, errorPointer: NSErrorPointer) -> Any? in
      let snapshot: DocumentSnapshot
      do {
        try snapshot = transaction.getDocument(document)
      } catch let fetchError as NSError {
        errorPointer?.pointee = fetchError
        return nil
      }
      guard let old = snapshot.data()?["population"] as? Int else {
        errorPointer?.pointee = NSError(domain: "AppErrorDomain", code: -1, userInfo: nil)
        return nil
      }
      transaction.updateData(["population": old + 1], forDocument: document)
      transaction.setData(["a": 1], forDocument: document).setData(
        ["a": 1], forDocument: document, merge: true
      )
      .setData(["a": 1], forDocument: document, mergeFields: ["a"]).deleteDocument(document)
      return old + 1
    }
    firestore.runTransaction(block) { object, error in print(object as Any, error as Any) }
    let options = TransactionOptions()
    options.maxAttempts = 3
    firestore.runTransaction(with: options, block: block) { object, error in
      print(object as Any, error as Any)
    }
    let result = try await firestore.runTransaction { transaction, errorPointer in
      do {
        let city = try transaction.getDocument(document).data(as: City.self)
        try transaction.setData(from: city, forDocument: document)
        try transaction.setData(from: city, forDocument: document, merge: true)
        try transaction.setData(from: city, forDocument: document, mergeFields: ["name"])
      } catch {
        errorPointer?.pointee = error as NSError
      }
      return nil
    }
    print(result as Any)
  }

  static func bundles(_ firestore: Firestore, _ data: Data, _ stream: InputStream) {
    let task: LoadBundleTask = firestore.loadBundle(data)
    let handle: LoadBundleObserverHandle = task.addObserver { progress in
      print(progress.documentsLoaded, progress.totalDocuments, progress.bytesLoaded, progress.totalBytes)
      switch progress.state {
      case .error, .inProgress, .success: break
      @unknown default: break
      }
    }
    task.removeObserverWith(handle: handle)
    task.removeAllObservers()
    firestore.loadBundle(data) { progress, error in print(progress as Any, error as Any) }
    firestore.loadBundle(stream)
    firestore.loadBundle(stream) { progress, error in print(progress as Any, error as Any) }
    firestore.getQuery(named: "latest") { query in print(query as Any) }
  }

  static func bundlesInTasks(_ firestore: Firestore, _ data: Data, _ stream: InputStream) async throws {
    let progress: LoadBundleTaskProgress = try await firestore.loadBundle(data)
    let _: LoadBundleTaskProgress = try await firestore.loadBundle(stream)
    print(progress, await firestore.getQuery(named: "latest") as Any)
  }

  // MARK: 1.2 Settings

  static func settings() {
    let settings = FirestoreSettings()
    settings.host = "localhost:8080"
    settings.isSSLEnabled = false
    settings.dispatchQueue = DispatchQueue(label: "callbacks")
    settings.cacheSettings = PersistentCacheSettings()
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: FirestoreCacheSizeUnlimited as NSNumber)
    settings.cacheSettings = MemoryCacheSettings()
    settings.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting())
    settings.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings())
    settings.cacheSettings = MemoryCacheSettings(
      garbageCollectorSettings: MemoryLRUGCSettings(sizeBytes: 2_000_000))
    let _: any LocalCacheSettings & NSObjectProtocol = settings.cacheSettings
    let _: any MemoryGarbageCollectorSettings & NSObjectProtocol = MemoryEagerGCSetting()
    _ = settings.copy()
  }

  // MARK: 1.3 References and queries

  static func documents(_ document: DocumentReference, _ city: City) throws {
    let _: (String, String, CollectionReference, Firestore) = (
      document.documentID, document.path, document.parent, document.firestore
    )
    _ = document.collection("landmarks")
    document.setData(["name": "Tokyo"])
    document.setData(["name": "Tokyo"]) { error in print(error as Any) }
    document.setData(["name": "Tokyo"], merge: true)
    document.setData(["name": "Tokyo"], merge: true) { error in print(error as Any) }
    document.setData(["name": "Tokyo"], mergeFields: ["name", FieldPath(["a"])])
    document.setData(["name": "Tokyo"], mergeFields: ["name"]) { error in print(error as Any) }
    document.updateData(["name": "Tokyo", FieldPath(["a.b"]): 1])
    document.updateData(["name": "Tokyo"]) { error in print(error as Any) }
    document.delete()
    document.delete { error in print(error as Any) }
    document.getDocument { snapshot, error in print(snapshot as Any, error as Any) }
    document.getDocument(source: .cache) { snapshot, error in print(snapshot as Any, error as Any) }
    document.addSnapshotListener { snapshot, error in print(snapshot as Any, error as Any) }
    document.addSnapshotListener(includeMetadataChanges: true) { _, _ in }.remove()
    document.addSnapshotListener(options: SnapshotListenOptions()) { _, _ in }.remove()
    try document.setData(from: city)
    try document.setData(from: city) { error in print(error as Any) }
    try document.setData(from: city, merge: true, encoder: Firestore.Encoder(), completion: nil)
    try document.setData(from: city, mergeFields: ["name"])
    document.getDocument(as: City.self) { result in
      if case .success(let city) = result { print(city.name) }
    }
    document.getDocument(as: City.self, with: .estimate, decoder: Firestore.Decoder(), source: .server) { _ in
    }
  }

  static func documentsInTasks(_ document: DocumentReference) async throws {
    try await document.setData(["name": "Tokyo"])
    try await document.setData(["name": "Tokyo"], merge: true)
    try await document.setData(["name": "Tokyo"], mergeFields: ["name"])
    try await document.updateData(["name": "Tokyo"])
    try await document.delete()
    print(try await document.getDocument(), try await document.getDocument(source: .server))
    print(try await document.getDocument(as: City.self).name)
    print(try await document.getDocument(as: City.self, with: .previous, source: .cache))
    for try await snapshot in document.snapshots { print(snapshot) }
    for try await snapshot in document.snapshots(includeMetadataChanges: true) { print(snapshot) }
    _ = DocumentReference.DocumentSnapshotsSequence(document, includeMetadataChanges: false)
  }

  /// An addition of Dugout: Firebase has no awaited forms of these calls.
  static func valuesInTasks(_ document: DocumentReference, _ city: City) async throws {
    try await document.setData(from: city)
    try await document.setData(from: city, encoder: Firestore.Encoder())
    try await document.setData(from: city, merge: true)
    try await document.setData(from: city, merge: true, encoder: Firestore.Encoder())
    try await document.setData(from: city, mergeFields: ["name", FieldPath(["a"])])
    try await document.setData(from: city, mergeFields: ["name"], encoder: Firestore.Encoder())
    try await document.parent.addDocument(from: city)
    let _: DocumentReference = try await document.parent.addDocument(from: city, encoder: Firestore.Encoder())
  }

  static func collections(_ collection: CollectionReference, _ city: City) async throws {
    let _: (String, String, DocumentReference?) = (
      collection.collectionID, collection.path, collection.parent
    )
    _ = (collection.document(), collection.document("tokyo"))
    let add = {
      let _: DocumentReference = collection.addDocument(data: ["name": "Tokyo"])
      let _: DocumentReference = collection.addDocument(data: ["name": "Tokyo"]) { error in
        print(error as Any)
      }
    }
    add()
    let _: DocumentReference = try await collection.addDocument(data: ["name": "Tokyo"])
    let addValue = { let _: DocumentReference = try collection.addDocument(from: city) }
    try addValue()
    try collection.addDocument(from: city, encoder: Firestore.Encoder()) { error in print(error as Any) }
  }

  static func queries(_ query: Query, _ snapshot: DocumentSnapshot) {
    let path = FieldPath(["population"])
    var query = query.whereField("a", isEqualTo: 1).whereField(path, isEqualTo: NSNull())
      .whereField("a", isNotEqualTo: 1).whereField(path, isNotEqualTo: 1)
    query = query.whereField("a", isLessThan: 1).whereField(path, isLessThan: 1)
      .whereField("a", isLessThanOrEqualTo: 1).whereField(path, isLessThanOrEqualTo: 1)
    query = query.whereField("a", isGreaterThan: 1).whereField(path, isGreaterThan: 1)
      .whereField("a", isGreaterThanOrEqualTo: 1).whereField(path, isGreaterThanOrEqualTo: 1)
    query = query.whereField("a", arrayContains: 1).whereField(path, arrayContains: 1)
      .whereField("a", arrayContainsAny: [1]).whereField(path, arrayContainsAny: [1])
    query = query.whereField("a", in: [1, "b"]).whereField(path, in: [1])
      .whereField("a", notIn: [1]).whereField(path, notIn: [1])
    query = query.whereFilter(
      Filter.orFilter([
        Filter.andFilter([
          Filter.whereField("a", isEqualTo: 1), Filter.whereField(path, isEqualTo: 1),
          Filter.whereField("a", isNotEqualTo: 1), Filter.whereField(path, isNotEqualTo: 1),
          Filter.whereField("a", isGreaterThan: 1), Filter.whereField(path, isGreaterThan: 1),
          Filter.whereField("a", isGreaterOrEqualTo: 1), Filter.whereField(path, isGreaterOrEqualTo: 1),
          Filter.whereField("a", isLessThan: 1), Filter.whereField(path, isLessThan: 1),
          Filter.whereField("a", isLessThanOrEqualTo: 1), Filter.whereField(path, isLessThanOrEqualTo: 1),
        ]),
        Filter.whereField("a", arrayContains: 1), Filter.whereField(path, arrayContains: 1),
        Filter.whereField("a", arrayContainsAny: [1]), Filter.whereField(path, arrayContainsAny: [1]),
        Filter.whereField("a", in: [1]), Filter.whereField(path, in: [1]),
        Filter.whereField("a", notIn: [1]), Filter.whereField(path, notIn: [1]),
      ]))
    query = query.order(by: "a").order(by: path).order(by: "a", descending: true)
      .order(by: FieldPath.documentID(), descending: false)
    query = query.limit(to: 10).limit(toLast: 10)
    query = query.start(at: [1]).start(after: [1]).end(at: [1]).end(before: [1])
    query = query.start(atDocument: snapshot).start(afterDocument: snapshot)
      .end(atDocument: snapshot).end(beforeDocument: snapshot)
    query.getDocuments { snapshot, error in print(snapshot as Any, error as Any) }
    query.getDocuments(source: .cache) { snapshot, error in print(snapshot as Any, error as Any) }
    query.addSnapshotListener { snapshot, error in print(snapshot as Any, error as Any) }
    query.addSnapshotListener(includeMetadataChanges: true) { _, _ in }.remove()
    let options = SnapshotListenOptions().withSource(ListenSource.cache).withIncludeMetadataChanges(true)
    print(options.source, options.includeMetadataChanges)
    let registration: any ListenerRegistration = query.addSnapshotListener(options: options) { _, _ in }
    registration.remove()
    print(query.firestore)
  }

  static func queriesInTasks(_ query: Query) async throws {
    print(try await query.getDocuments().count, try await query.getDocuments(source: .default).isEmpty)
    for try await snapshot in query.snapshots { print(snapshot) }
    for try await snapshot in query.snapshots(includeMetadataChanges: true) { print(snapshot) }
    _ = Query.QuerySnapshotsSequence(query, includeMetadataChanges: false)
  }

  /// Calls whose results Firebase allows a caller to discard without a warning.
  static func discarded(_ firestore: Firestore, _ query: Query, _ document: DocumentReference) async throws {
    try await document.getDocument()
    try await document.getDocument(source: .cache)
    try await query.getDocuments()
    try await query.getDocuments(source: .server)
    try await query.count.getAggregation(source: .server)
    try await firestore.collection("cities").addDocument(data: ["name": "Bern"])
    await firestore.getQuery(named: "latest")
    await firestore.app.delete()
  }

  // MARK: 1.4 Snapshots

  static func snapshots(_ document: DocumentSnapshot, _ results: QuerySnapshot) throws {
    print(document.exists, document.reference, document.documentID, document.metadata)
    print(document.data() as Any, document.data(with: .estimate) as Any)
    print(document.get("a.b") as Any, document.get(FieldPath(["a"]), serverTimestampBehavior: .none) as Any)
    print(document["a"] as Any, document[FieldPath(["a"])] as Any)
    print(try document.data(as: City.self), try document.data(as: City?.self, with: .none) as Any)
    print(try document.data(as: City.self, decoder: Firestore.Decoder()))
    print(results.query, results.metadata.hasPendingWrites, results.metadata.isFromCache, results.isEmpty)
    for document in results.documents {
      let fields: [String: Any] = document.data()
      print(fields, document.data(with: .previous)["a"] as Any)
    }
    for change in results.documentChanges + results.documentChanges(includeMetadataChanges: false) {
      switch change.type {
      case .added, .modified, .removed:
        print(change.document, change.oldIndex == UInt(NSNotFound), change.newIndex)
      }
    }
  }

  static var querySnapshotBlock: FIRQuerySnapshotBlock { { _, _ in } }
  static var documentSnapshotBlock: FIRDocumentSnapshotBlock { { _, _ in } }

  // MARK: 1.5 Aggregates

  static func aggregates(_ query: Query) async throws {
    let path = FieldPath(["population"])
    let aggregate: AggregateQuery = query.aggregate([
      AggregateField.count(), AggregateField.sum("a"), AggregateField.sum(path), AggregateField.average("a"),
      AggregateField.average(path),
    ])
    query.count.getAggregation(source: .server) { snapshot, error in
      print(snapshot?.count as Any, error as Any)
    }
    let snapshot: AggregateQuerySnapshot = try await aggregate.getAggregation(source: AggregateSource.server)
    print(snapshot.query, snapshot.count.intValue, snapshot.get(AggregateField.sum("a")), aggregate.query)
  }

  // MARK: 1.6 Writes

  static func batches(_ firestore: Firestore, _ document: DocumentReference, _ city: City) async throws {
    let batch = firestore.batch()
    batch.setData(["a": 1], forDocument: document)
    batch.setData(["a": 1], forDocument: document, merge: true)
    batch.setData(["a": 1], forDocument: document, mergeFields: ["a"])
    batch.updateData(["a": 1], forDocument: document).deleteDocument(document)
    try batch.setData(from: city, forDocument: document)
    try batch.setData(from: city, forDocument: document, merge: true)
    try batch.setData(from: city, forDocument: document, mergeFields: ["name"], encoder: Firestore.Encoder())
    let commit = {
      firestore.batch().commit()
      firestore.batch().commit { error in print(error as Any) }
    }
    commit()
    try await batch.commit()
  }

  static var sentinels: [Any] {
    [
      FieldValue.delete(), FieldValue.serverTimestamp(), FieldValue.arrayUnion([1]),
      FieldValue.arrayRemove([1]),
      FieldValue.increment(1.5), FieldValue.increment(Int64(1)), FieldValue.minimum(1.5),
      FieldValue.minimum(Int64(1)), FieldValue.maximum(1.5), FieldValue.maximum(Int64(1)),
      FieldValue.vector([1.0, 2.0]), FieldValue.vector([1.0, 2.0] as [Float]), VectorValue([1, 2]).array,
    ]
  }

  // MARK: 1.7 Value types

  static func values() {
    _ = FieldPath(["a", "b"]).copy()
    let place = GeoPoint(latitude: 1, longitude: 2)
    print(place.latitude, place.longitude)
    let time = Timestamp(seconds: 1, nanoseconds: 2)
    print(Timestamp(date: Date()).compare(time) == .orderedAscending, Timestamp().dateValue())
    print(time.seconds, time.nanoseconds)
  }

  // MARK: 1.10 Sendable

  static func sendable(_ values: any Sendable...) {}

  static func sendables(
    _ query: Query, _ collection: CollectionReference, _ document: DocumentReference,
    _ snapshot: DocumentSnapshot, _ results: QuerySnapshot, _ change: DocumentChange, _ batch: WriteBatch,
    _ aggregate: AggregateQuery, _ numbers: AggregateQuerySnapshot, _ progress: LoadBundleTaskProgress,
    _ firestore: Firestore, _ registration: any ListenerRegistration, _ found: QueryDocumentSnapshot
  ) {
    sendable(query, collection, document, snapshot, results, change, batch, aggregate, numbers, progress)
    sendable(firestore, registration, found, snapshot.metadata, FieldPath(["a"]), FieldValue.delete())
    sendable(Filter.orFilter([]), GeoPoint(latitude: 0, longitude: 0), Timestamp(), VectorValue([]))
    sendable(SnapshotListenOptions(), AggregateField.count(), FirestoreSettings(), TransactionOptions())
  }

  // MARK: 2 Codable

  static func coders(_ document: DocumentReference) throws {
    let encoder = Firestore.Encoder()
    encoder.dateEncodingStrategy = .timestamp
    encoder.dataEncodingStrategy = .blob
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.userInfo = [:]
    let fields: [String: Any] = try encoder.encode(City(name: "Tokyo"))
    let decoder = Firestore.Decoder()
    decoder.dateDecodingStrategy = .iso8601
    decoder.dataDecodingStrategy = .base64
    decoder.nonConformingFloatDecodingStrategy = .throw
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.userInfo = [:]
    _ = try decoder.decode(City.self, from: fields)
    _ = try decoder.decode(City.self, from: fields, in: document)
    let _: FirebaseDataEncoder.DateEncodingStrategy = .custom { _, _ in }
    let _: FirebaseDataDecoder.DataDecodingStrategy = .deferredToData
    let _: any Error = FirestoreEncodingError.encodingIsNotSupported("")
    let _: any Error = FirestoreDecodingError.fieldNameConflict("")
  }

  // MARK: 1.11 Views

  static func views() {
    let predicates: [QueryPredicate] = [
      .isEqualTo("name", "Tokyo"), .isIn("name", []), .isNotIn("name", []), .arrayContains("tags", 1),
      .arrayContainsAny("tags", []), .isLessThan("n", 1), .isGreaterThan("n", 1),
      .isLessThanOrEqualTo("n", 1),
      .isGreaterThanOrEqualTo("n", 1), .orderBy("n", true), .limitTo(1), .limitToLast(1),
      .where("name", isEqualTo: "Tokyo"), .where("name", isIn: []), .where("name", isNotIn: []),
      .where(field: "tags", arrayContains: 1), .where("tags", arrayContains: 1),
      .where("tags", arrayContainsAny: []), .where("n", isLessThan: 1),
      .where("n", isGreaterThan: 1), .where("n", isLessThanOrEqualTo: 1),
      .where("n", isGreaterThanOrEqualTo: 1), .order(by: "n", descending: true), .limit(to: 1),
      .limit(toLast: 1),
      .whereField("name", isEqualTo: "Tokyo"), .whereField("name", isIn: []),
      .whereField("name", isNotIn: []),
      .whereField("tags", arrayContains: 1), .whereField("tags", arrayContainsAny: []),
      .whereField("n", isLessThan: 1), .whereField("n", isGreaterThan: 1),
      .whereField("n", isLessThanOrEqualTo: 1), .whereField("n", isGreaterThanOrEqualTo: 1),
    ]
    let strategies: [DecodingFailureStrategy] = [.ignore, .raise]
    print(predicates.count, strategies.count)
  }

  #if canImport(SwiftUI)
  struct CitiesView {
    @FirestoreQuery(collectionPath: "cities", predicates: [.where("name", isEqualTo: "Tokyo")])
    var cities: [City]
    @FirestoreQuery(collectionPath: "cities", decodingFailureStrategy: .ignore)
    var result: Result<[City], any Error>
    @FirestoreQuery(
      collectionPath: "cities", predicates: [.whereField("name", isEqualTo: "Tokyo")], animation: .default)
    var animated: [City]

    @MainActor func change() {
      $animated.animation = nil
      $cities.path = "towns"
      $cities.predicates = []
      print($cities.error as Any, cities.count, result)
    }
  }
  #endif

  #if canImport(ObjectiveC)
  static func predicates(_ query: Query) -> Query { query.filter(using: NSPredicate(format: "n > 1")) }
  #endif

  // MARK: 3 Errors

  static func errors(_ document: DocumentReference) async {
    do {
      _ = try await document.getDocument()
    } catch FirestoreErrorCode.unavailable {
      print("away")
    } catch {
      switch error {
      case FirestoreErrorCode.notFound: print("not there")
      default: print((error as? FirestoreErrorCode)?.code as Any)
      }
      print(FirestoreErrorCode.Code(rawValue: (error as NSError).code) == .aborted)
      print((error as NSError).code == FirestoreErrorCode.dataLoss.rawValue)
      print((error as NSError).domain == FirestoreErrorDomain)
    }
  }

  // MARK: Identity and sequences

  static func identities(_ query: Query, _ document: DocumentReference, _ results: QuerySnapshot) {
    let objects: [NSObject] = [
      query, document, document.parent, results, results.metadata, query.count, AggregateField.count(),
      FieldPath(["a"]), FieldValue.delete(), GeoPoint(latitude: 0, longitude: 0), VectorValue([1]),
      SnapshotListenOptions(), FirestoreSettings(), TransactionOptions(), PersistentCacheSettings(),
      MemoryCacheSettings(), MemoryEagerGCSetting(), MemoryLRUGCSettings(),
    ]
    print(Set(objects).count, objects[0].isEqual(objects[1]), objects[0].hash, FieldPath(["a"]).description)
    print(query == query, document != document, results == results)
    print(DocumentChangeType(rawValue: 0) as Any, FirestoreSource(rawValue: 0) as Any)
    print(ListenSource(rawValue: 0) as Any, ServerTimestampBehavior(rawValue: 0) as Any)
    print(AggregateSource(rawValue: 0) as Any, LoadBundleTaskState(rawValue: 0) as Any)
  }

  static func sequences(_ query: Query, _ document: DocumentReference) async throws {
    var iterator: Query.QuerySnapshotsSequence.Iterator = query.snapshots.makeAsyncIterator()
    let _: Query.QuerySnapshotsSequence.Element? = try await iterator.next()
    var states: DocumentReference.DocumentSnapshotsSequence.Iterator = document.snapshots.makeAsyncIterator()
    let _: DocumentReference.DocumentSnapshotsSequence.Element? = try await states.next(isolation: nil)
    let _: Query.QuerySnapshotsSequence.Failure? = nil
  }

  @available(*, deprecated) static func deprecated(_ firestore: Firestore, _ stream: InputStream) {
    let settings = FirestoreSettings()
    settings.isPersistenceEnabled = false
    settings.cacheSizeBytes = FirestoreCacheSizeUnlimited
    firestore.setIndexConfiguration("{}") { error in print(error as Any) }
    firestore.setIndexConfiguration(stream) { error in print(error as Any) }
  }

  @available(*, deprecated) static func deprecated(_ firestore: Firestore, _ json: String) async throws {
    try await firestore.setIndexConfiguration(json)
    try await firestore.setIndexConfiguration(InputStream(data: Data()))
  }

  struct Wrapped: Codable {
    var id = DocumentID<String>(wrappedValue: nil)
    var time = ServerTimestamp<Timestamp>(wrappedValue: nil)
    var text = ExplicitNull<String>(wrappedValue: nil)

    func values(_ document: DocumentReference) throws {
      print(id.wrappedValue as Any, time.wrappedValue as Any, text.wrappedValue as Any)
      func wrapped<ID: DocumentIDWrappable>(_: ID.Type) throws -> ID { try ID.wrap(document) }
      func moved<Time: ServerTimestampWrappable>(_ time: Time) throws -> Time {
        try Time.wrap(try Time.unwrap(time))
      }
      print(try wrapped(String.self), try wrapped(DocumentReference.self), try moved(Date()))
    }
  }

  static var strategies: [Any] {
    let dates: [FirebaseDataEncoder.DateEncodingStrategy] = [
      .deferredToDate, .secondsSince1970, .millisecondsSince1970, .iso8601, .formatted(DateFormatter()),
    ]
    let decodedDates: [FirebaseDataDecoder.DateDecodingStrategy] = [
      .deferredToDate, .secondsSince1970, .millisecondsSince1970, .timestamp, .formatted(DateFormatter()),
    ]
    let keys: [FirebaseDataEncoder.KeyEncodingStrategy] = [.useDefaultKeys, .custom { $0[0] }]
    let decodedKeys: [FirebaseDataDecoder.KeyDecodingStrategy] = [.useDefaultKeys, .custom { $0[0] }]
    let data: [FirebaseDataEncoder.DataEncodingStrategy] = [.deferredToData, .base64]
    let floats: FirebaseDataDecoder.NonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    let error: any Error = FirestoreDecodingError.decodingIsNotSupported("")
    return [dates, decodedDates, keys, decodedKeys, data, floats, error]
  }

  static func codes(_ error: FirestoreErrorCode) {
    switch error.code {
    case .OK, .cancelled, .unknown, .invalidArgument, .deadlineExceeded, .notFound, .alreadyExists: break
    case .permissionDenied, .resourceExhausted, .failedPrecondition, .aborted, .outOfRange: break
    case .unimplemented, .internal, .unavailable, .dataLoss, .unauthenticated: break
    @unknown default: break
    }
    print(error.errorCode, FirestoreErrorCode.errorDomain, error.errorUserInfo, error.localizedDescription)
    let _: FirestoreErrorCode.Code = FirestoreErrorCode.unknown
    print(FirestoreErrorCode(.aborted, userInfo: [:]))
  }

  static func observed(_ firestore: Firestore) {
    let configuration = FirestoreQueryConfiguration(path: "cities", predicates: [.limit(to: 1)])
    let observable = FirestoreQueryObservable<[City]>(configuration: configuration, firestore: firestore)
    print(observable.items.count, observable.configuration.path)
  }
}
