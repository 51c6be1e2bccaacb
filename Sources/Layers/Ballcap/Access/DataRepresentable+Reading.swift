// Reads objects.

public import FirebaseFirestore

extension DataRepresentable where Self: Object {
  // MARK: New objects

  /// Calls `completion` on the callback queue with `(object, nil)`, or with `(nil, nil)` if the document does
  /// not exist. If the read fails it gets `(nil, error)`: a `DecodingError` if the document does not decode.
  public static func get(
    documentReference: DocumentReference, source: FirestoreSource = FirestoreSource.default,
    completion: @escaping ((Self?, (any Error)?) -> Void)
  ) {
    documentReference.getDocument(source: source) { snapshot, error in
      let (object, failure) = decodedObject(from: snapshot, error)
      completion(object, failure)
    }
  }

  /// Reads the document with this id. The object is nil if the document does not exist.
  public static func get(
    id: String, source: FirestoreSource = FirestoreSource.default,
    completion: @escaping ((Self?, (any Error)?) -> Void)
  ) {
    get(documentReference: home.document(id), source: source, completion: completion)
  }

  static func decodedObject(from snapshot: DocumentSnapshot?, _ error: (any Error)?) -> (Self?, (any Error)?)
  {
    guard let snapshot, hasDocument(snapshot) else { return (nil, error) }
    do { return (try object(of: snapshot), nil) } catch { return (nil, error) }
  }

  // MARK: This object

  /// Reads the document, and then sets `data`, the times and `snapshot` of this object. If the document does
  /// not exist, `data` becomes nil. If the read fails, `data` does not change.
  ///
  /// `completion` does not get this object. It gets a new object, as with `Self.get`.
  @discardableResult
  public func get(
    _ cachePolicy: CachePolicy = .cacheElseServer, completion: ((Self?, (any Error)?) -> Void)? = nil
  ) -> Self {
    switch cachePolicy {
    case .cacheOnly: read(.cache) { completion?($0, $1) }
    case .serverOnly: read(.server) { completion?($0, $1) }
    case .serverElseCache: read(.default) { completion?($0, $1) }
    case .cacheElseServer:
      Self.get(documentReference: documentReference, source: .cache) { [self] object, error in
        if object == nil, Self.isMiss(error) { return readAgain(.server) { completion?($0, $1) } }
        take(object, error)
        completion?(object, error)
      }
    case .cacheThenServer:
      read(.cache) { [self] object, error in
        completion?(object, error)
        readAgain(.server) { completion?($0, $1) }
      }
    }
    return self
  }

  /// Whether to read the server after the cache, because the cache has no document or the cached document
  /// does not decode.
  private static func isMiss(_ error: (any Error)?) -> Bool {
    guard let error else { return true }
    return error is DecodingError || FirestoreErrorCode.Code.unavailable ~= error
  }

  /// Reads again from within a completion. If the database has been terminated by then, reports the
  /// termination as an error, as a read in progress does.
  private func readAgain(_ source: FirestoreSource, _ completion: @escaping (Self?, (any Error)?) -> Void) {
    do { try documentReference.firestore.checkLiving() } catch { return completion(nil, error) }
    read(source, completion)
  }

  private func read(_ source: FirestoreSource, _ completion: @escaping (Self?, (any Error)?) -> Void) {
    Self.get(documentReference: documentReference, source: source) { [self] object, error in
      take(object, error)
      completion(object, error)
    }
  }

  /// Sets this object's data, snapshot and times to those of the object that was read.
  private func take(_ object: Self?, _ error: (any Error)?) {
    guard error == nil else { return }
    if data != object?.data { data = object?.data }
    guard let object else { return }
    snapshot = object.snapshot
    ballcapTimes = object.ballcapTimes
  }

  // MARK: Async

  /// Returns the object, or nil if the document does not exist. Throws if the document cannot be read or does
  /// not decode. Reads on the caller's thread, unless earlier writes are still in progress.
  nonisolated(nonsending) public static func get(
    documentReference: DocumentReference, source: FirestoreSource = FirestoreSource.default
  ) async throws -> Self? {
    let snapshot = try await documentReference.getDocument(source: source)
    return hasDocument(snapshot) ? try object(of: snapshot) : nil
  }

  /// Reads the document with this id. Returns nil if the document does not exist.
  nonisolated(nonsending) public static func get(
    id: String, source: FirestoreSource = FirestoreSource.default
  ) async throws -> Self? {
    try await get(documentReference: home.document(id), source: source)
  }

  /// Reads the document into this object, as the form with a completion does. Returns this object, or nil if
  /// the document does not exist.
  @discardableResult
  nonisolated(nonsending) public func get(
    _ cachePolicy: CachePolicy = .cacheElseServer
  ) async throws -> Self? {
    switch cachePolicy {
    case .cacheOnly: return try await read(.cache)
    case .serverOnly: return try await read(.server)
    case .serverElseCache: return try await read(.default)
    case .cacheElseServer:
      do {
        if let found = try await Self.get(documentReference: documentReference, source: .cache) {
          take(found, nil)
          return self
        }
      } catch  where Self.isMiss(error) {
        // The server is read below.
      }
      return try await read(.server)
    case .cacheThenServer:
      _ = try? await read(.cache)
      return try await read(.server)
    }
  }

  nonisolated(nonsending) private func read(_ source: FirestoreSource) async throws -> Self? {
    let object = try await Self.get(documentReference: documentReference, source: source)
    take(object, nil)
    return object == nil ? nil : self
  }
}
