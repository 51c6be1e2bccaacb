// Reading documents, and listening to them.

public import FirebaseFirestore

extension Document {
  /// Reads the document with this id in the class's collection: `(nil, nil)` if there is none.
  public static func get(_ id: String, block: @escaping (Self?, (any Error)?) -> Void) {
    reference.document(id).getDocument { snapshot, error in
      block(snapshot.flatMap { Self(snapshot: $0) }, error)
    }
  }

  /// Calls `block` with a new object as the document is, and then each time it changes; with `(nil, nil)` while it
  /// does not exist.
  public static func listen(
    _ id: String, block: @escaping (Self?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    pringListen(to: reference.document(id), block)
  }

  /// The same, until the disposer is freed.
  public static func listen(
    _ id: String, block: @escaping (Self?, (any Error)?) -> Void
  ) -> Disposer<Self> {
    Disposer(.value(pringListen(to: reference.document(id), block)))
  }

  /// Listens to the document of this object, wherever it is.
  public func listen(_ block: @escaping (Self?, (any Error)?) -> Void) -> any ListenerRegistration {
    Self.pringListen(to: reference, block)
  }

  /// Tells the object at once and after every change, until the disposer is disposed of.
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

  /// Nil if there is no such document. Needs no callback queue.
  nonisolated(nonsending) public static func get(_ id: String) async throws -> Self? {
    Self(snapshot: try await reference.document(id).getDocument())
  }
}

extension DocumentReference {
  /// Reads the document as an object of the class of `document`.
  public func get<T: Document>(_ document: T, block: @escaping (T?, (any Error)?) -> Void) {
    getDocument { snapshot, error in block(snapshot.flatMap { T(snapshot: $0) }, error) }
  }
}
