// The same writes to other collections, to several objects, and in other words.

public import FirebaseFirestore

extension Batch {
  // MARK: To another collection, under the same id

  @discardableResult
  public func save<T: Documentable>(
    _ document: T, to collectionReference: CollectionReference
  ) -> Self where T: DataRepresentable {
    save(document, reference: collectionReference.document(document.id))
  }

  @discardableResult
  public func update<T: Documentable>(
    _ document: T, in collectionReference: CollectionReference
  ) -> Self where T: DataRepresentable {
    update(document, reference: collectionReference.document(document.id))
  }

  @discardableResult
  public func delete<T: Documentable>(_ document: T, in collectionReference: CollectionReference) -> Self {
    delete(document, reference: collectionReference.document(document.id))
  }

  // MARK: Several objects

  @discardableResult
  public func save<T: Documentable>(
    _ documents: [T], to collectionReference: CollectionReference
  ) -> Self where T: DataRepresentable {
    for document in documents { save(document, to: collectionReference) }
    return self
  }

  @discardableResult
  public func update<T: Documentable>(
    _ documents: [T], in collectionReference: CollectionReference
  ) -> Self where T: DataRepresentable {
    for document in documents { update(document, in: collectionReference) }
    return self
  }

  @discardableResult
  public func delete<T: Documentable>(
    _ documents: [T], in collectionReference: CollectionReference
  ) -> Self {
    for document in documents { delete(document, in: collectionReference) }
    return self
  }

  // MARK: As earlier releases had it

  @discardableResult
  public func save<T: Documentable>(document: T) -> Self where T: DataRepresentable { save(document) }

  @discardableResult
  public func update<T: Documentable>(document: T) -> Self where T: DataRepresentable { update(document) }

  @discardableResult
  public func delete<T: Documentable>(document: T) -> Self { delete(document) }
}
