// The states of a document as an asynchronous sequence.

public import FirebaseFirestore

/// A sequence that returns an object for the present state of a document and for each later state. An element
/// is nil if the document does not exist. Each iterator has its own listener, until the iterator is freed or
/// its task is cancelled. A state that does not decode ends the sequence with the decoding error.
public struct DocumentUpdates<Object: Ballcap.Object & DataRepresentable>: AsyncSequence {
  public typealias Element = Object?
  public typealias Failure = any Error

  private let snapshots: DocumentReference.DocumentSnapshotsSequence
  /// Returns the object for a state.
  private let make: (DocumentSnapshot) throws -> Object?

  init(_ reference: DocumentReference, _ make: @escaping (DocumentSnapshot) throws -> Object?) {
    snapshots = reference.snapshots
    self.make = make
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(snapshots: snapshots.makeAsyncIterator(), make: make)
  }

  /// Iterates over the states of the document.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var snapshots: DocumentReference.DocumentSnapshotsSequence.Iterator
    fileprivate let make: (DocumentSnapshot) throws -> Object?

    /// Returns the next state; nil once the task is cancelled or the database is terminated.
    public mutating func next() async throws -> Object?? { try await next(isolation: nil) }

    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(any Error) -> Object?? {
      guard let snapshot = try await snapshots.next(isolation: actor) else { return nil }
      return .some(try make(snapshot))
    }
  }
}

extension DataRepresentable where Self: Object {
  /// Returns a sequence with a new object for each state of the document.
  ///
  /// ```swift
  /// for try await user in Document<User>.updates(id: "ada") {
  ///   print(user?.data?.age ?? "gone")
  /// }
  /// ```
  public static func updates(documentReference: DocumentReference) -> DocumentUpdates<Self> {
    DocumentUpdates(documentReference) { hasDocument($0) ? try object(of: $0) : nil }
  }

  /// Returns a sequence with a new object for each state of the document with this id.
  public static func updates(id: String) -> DocumentUpdates<Self> {
    updates(documentReference: home.document(id))
  }

  /// A sequence that, for each state of the document, updates this object and returns it.
  public var updates: DocumentUpdates<Self> {
    DocumentUpdates(documentReference) { [self] snapshot in
      guard Self.hasDocument(snapshot) else { return nil }
      try _set(snapshot: snapshot)
      return self
    }
  }
}
