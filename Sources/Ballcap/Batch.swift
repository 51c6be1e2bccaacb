// Saving and deleting several objects together.

public import FirebaseFirestore

/// Writes of objects that happen together or not at all. A model is encoded when it is added; one that
/// cannot be encoded fails the commit, and nothing is written.
public final class Batch {
  private let batch: WriteBatch

  public init(firestore: Firestore = Firestore.firestore()) {
    batch = firestore.batch()
  }

  /// Writes the whole model, and the two times where the object wants them.
  @discardableResult
  public func save<T: Documentable>(
    _ document: T, reference: DocumentReference? = nil
  ) -> Self where T: DataRepresentable {
    do {
      var fields = try Firestore.Encoder().encodeFields(document.data)
      if document.shouldIncludedInTimestamp {
        fields.sentinels += ["createdAt", "updatedAt"].map { ([$0], .serverTimestamp()) }
      }
      batch.setFields(fields, forDocument: reference ?? document.documentReference)
    } catch {
      batch.fail(error)
    }
    return self
  }

  @discardableResult
  public func delete<T: Documentable>(_ document: T, reference: DocumentReference? = nil) -> Self {
    batch.deleteDocument(reference ?? document.documentReference)
    return self
  }

  /// `completion` runs on the callback queue, once, with nil if everything is durable.
  public func commit(_ completion: (((any Error)?) -> Void)? = nil) {
    batch.commit(completion: completion)
  }
}
