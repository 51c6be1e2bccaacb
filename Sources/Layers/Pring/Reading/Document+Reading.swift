// Reads documents as objects, and listens to them.

public import FirebaseFirestore

extension Document {
  /// Reads the document with this id in the collection of the class. Passes `(nil, nil)` to the block if the
  /// document does not exist.
  public static func get(_ id: String, block: @escaping (Self?, (any Error)?) -> Void) {
    reference.document(id).getDocument { snapshot, error in
      block(snapshot.flatMap { Self(snapshot: $0) }, error)
    }
  }

  /// Calls `block` with a new object for the document, now and after each change. Passes `(nil, nil)` while
  /// the document does not exist.
  public static func listen(
    _ id: String, block: @escaping (Self?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    pringListen(to: reference.document(id), block)
  }

  /// Calls `block` with a new object for the document, now and after each change, until the returned disposer
  /// is freed. Passes `(nil, nil)` while the document does not exist.
  public static func listen(
    _ id: String, block: @escaping (Self?, (any Error)?) -> Void
  ) -> Disposer<Self> {
    Disposer(.value(pringListen(to: reference.document(id), block)))
  }

  /// Calls `block` with a new object for the document of this object, now and after each change.
  public func listen(_ block: @escaping (Self?, (any Error)?) -> Void) -> any ListenerRegistration {
    Self.pringListen(to: reference, block)
  }

  /// Calls `block` with a new object for the document of this object, now and after each change, until the
  /// returned disposer is freed.
  public func listen(block: @escaping (Self?, (any Error)?) -> Void) -> Disposer<Self> {
    Disposer(.value(Self.pringListen(to: reference, block)))
  }

  static func pringListen(
    to reference: DocumentReference, _ block: @escaping (Self?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    reference.addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
      block(snapshot.flatMap { Self(snapshot: $0) }, error)
    }
  }

  // MARK: Async

  /// Reads the document with this id in the collection of the class; nil if the document does not exist. Does
  /// not use the callback queue.
  nonisolated(nonsending) public static func get(_ id: String) async throws -> Self? {
    Self(snapshot: try await reference.document(id).getDocument())
  }
}

extension DocumentReference {
  /// Reads the document of this reference as an object of the class of `document`.
  public func get<T: Document>(_ document: T, block: @escaping (T?, (any Error)?) -> Void) {
    getDocument { snapshot, error in block(snapshot.flatMap { T(snapshot: $0) }, error) }
  }
}
