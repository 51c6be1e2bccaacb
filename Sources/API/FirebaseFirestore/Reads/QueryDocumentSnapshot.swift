// A document in the results of a query.

/// The snapshot of a document that a query returned. The document exists.
public final class QueryDocumentSnapshot: DocumentSnapshot, @unchecked Sendable {
  public override func data() -> [String: Any] { data(with: .none) }

  public override func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any] {
    super.data(with: serverTimestampBehavior) ?? [:]
  }
}
