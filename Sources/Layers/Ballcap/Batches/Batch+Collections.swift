// Batch writes to other collections, batch writes of several objects, and earlier names of the batch writes.

public import FirebaseFirestore

extension Batch {
  // MARK: To another collection, under the same id

  /// Saves the document in this collection, under its own id.
  @discardableResult
  public func save<T: Documentable>(
    _ document: T, to collectionReference: CollectionReference
  ) -> Self where T: DataRepresentable {
    save(document, reference: collectionReference.document(document.id))
  }

  /// Updates the document with the same id in this collection.
  @discardableResult
  public func update<T: Documentable>(
    _ document: T, in collectionReference: CollectionReference
  ) -> Self where T: DataRepresentable {
    update(document, reference: collectionReference.document(document.id))
  }

  /// Deletes the document with the same id in this collection.
  @discardableResult
  public func delete<T: Documentable>(_ document: T, in collectionReference: CollectionReference) -> Self {
    delete(document, reference: collectionReference.document(document.id))
  }

  // MARK: Several objects

  /// Saves the documents in this collection, under their own ids.
  @discardableResult
  public func save<T: Documentable>(
    _ documents: [T], to collectionReference: CollectionReference
  ) -> Self where T: DataRepresentable {
    for document in documents { save(document, to: collectionReference) }
    return self
  }

  /// Updates the documents with the same ids in this collection.
  @discardableResult
  public func update<T: Documentable>(
    _ documents: [T], in collectionReference: CollectionReference
  ) -> Self where T: DataRepresentable {
    for document in documents { update(document, in: collectionReference) }
    return self
  }

  /// Deletes the documents with the same ids in this collection.
  @discardableResult
  public func delete<T: Documentable>(
    _ documents: [T], in collectionReference: CollectionReference
  ) -> Self {
    for document in documents { delete(document, in: collectionReference) }
    return self
  }

  // MARK: Names of earlier releases

  /// Saves the document at its own reference.
  @discardableResult
  public func save<T: Documentable>(document: T) -> Self where T: DataRepresentable { save(document) }

  /// Updates the document at its own reference.
  @discardableResult
  public func update<T: Documentable>(document: T) -> Self where T: DataRepresentable { update(document) }

  /// Deletes the document at its own reference.
  @discardableResult
  public func delete<T: Documentable>(document: T) -> Self { delete(document) }
}
