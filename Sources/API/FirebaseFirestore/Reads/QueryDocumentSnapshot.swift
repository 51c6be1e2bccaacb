// A document among the results of a query.

/// A document that a query found: it exists.
public final class QueryDocumentSnapshot: DocumentSnapshot, @unchecked Sendable {
  public override func data() -> [String: Any] { data(with: .none) }

  public override func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any] {
    super.data(with: serverTimestampBehavior) ?? [:]
  }
}
