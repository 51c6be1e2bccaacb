// The states of a document, for loops.

public import FirebaseFirestore

/// Objects of a document as it is, and then each time it changes; nil while it does not exist. Each iterator
/// listens by itself, until it is gone or its task is cancelled. A state that does not decode ends it with
/// its error.
public struct DocumentUpdates<Object: Ballcap.Object & DataRepresentable>: AsyncSequence {
  public typealias Element = Object?
  public typealias Failure = any Error

  private let snapshots: DocumentReference.DocumentSnapshotsSequence
  /// What to make of a state.
  private let make: (DocumentSnapshot) throws -> Object?

  init(_ reference: DocumentReference, _ make: @escaping (DocumentSnapshot) throws -> Object?) {
    snapshots = reference.snapshots
    self.make = make
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(snapshots: snapshots.makeAsyncIterator(), make: make)
  }

  /// Takes one state of the document after the other.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var snapshots: DocumentReference.DocumentSnapshotsSequence.Iterator
    fileprivate let make: (DocumentSnapshot) throws -> Object?

    /// The next state; nil once the task is cancelled or the database terminated.
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
  /// A new object for each state of the document.
  ///
  /// ```swift
  /// for try await user in Document<User>.updates(id: "ada") {
  ///   print(user?.data?.age ?? "gone")
  /// }
  /// ```
  public static func updates(documentReference: DocumentReference) -> DocumentUpdates<Self> {
    DocumentUpdates(documentReference) { finds($0) ? try object(of: $0) : nil }
  }

  /// The document as it is and as it becomes, for as long as the loop runs.
  public static func updates(id: String) -> DocumentUpdates<Self> {
    updates(documentReference: home.document(id))
  }

  /// This object, kept as its document is, after each change.
  public var updates: DocumentUpdates<Self> {
    DocumentUpdates(documentReference) { [self] snapshot in
      guard Self.finds(snapshot) else { return nil }
      try _set(snapshot: snapshot)
      return self
    }
  }
}
