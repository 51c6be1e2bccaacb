// Objects and what was read of their documents.

public import FirebaseFirestore

extension DataRepresentable where Self: Object {
  /// The object of a document that was read. `data` is nil if the document does not exist; throws if it does not
  /// decode. What was read is in the cache afterwards.
  public init(snapshot: DocumentSnapshot) throws {
    self.init(snapshot.reference)
    self.snapshot = snapshot
    guard snapshot.exists else { return }
    data = try snapshot.data(as: Model.self, with: .estimate)
    times.begin(with: snapshot)
    DocumentCache.shared.note(snapshot)
  }

  /// Takes over what a listener was told. Where a moment that the server has not set yet does not decode, it is
  /// estimated.
  // swift-format-ignore: NoLeadingUnderscores
  func _set(snapshot: DocumentSnapshot) throws {
    self.snapshot = snapshot
    guard snapshot.exists else { return }
    do {
      data = try snapshot.data(as: Model.self)
    } catch {
      data = try snapshot.data(as: Model.self, with: .estimate)
    }
    times.update(from: snapshot)
    DocumentCache.shared.note(snapshot)
  }
}
