// Writes a single document, as a batch of one write.

private import Foundation

extension DocumentReference {
  /// Replaces the document's contents with these fields, or creates the document.
  public func setData(_ documentData: [String: Any]) {
    firestore.batch().setData(documentData, forDocument: self).commit()
  }

  /// Replaces the document's contents with these fields, or creates the document. `completion` runs on the
  /// callback queue when the write is durable or has failed.
  public func setData(_ documentData: [String: Any], completion: (((any Error)?) -> Void)?) {
    firestore.batch().setData(documentData, forDocument: self).commit(completion: completion)
  }

  /// Replaces the document's contents with these fields, or creates the document. Returns when it is on
  /// stable storage.
  nonisolated(nonsending) public func setData(_ documentData: [String: Any]) async throws {
    try await firestore.batch().setData(documentData, forDocument: self).commit()
  }

  /// Creates the document or sets its fields. With `merge`, the document keeps its other fields.
  public func setData(_ documentData: [String: Any], merge: Bool) {
    firestore.batch().setData(documentData, forDocument: self, merge: merge).commit()
  }

  /// Creates the document or sets its fields. With `merge`, the document keeps its other fields. `completion`
  /// runs on the callback queue when the write is durable or has failed.
  public func setData(_ documentData: [String: Any], merge: Bool, completion: (((any Error)?) -> Void)?) {
    firestore.batch().setData(documentData, forDocument: self, merge: merge).commit(completion: completion)
  }

  /// Creates the document or sets its fields. With `merge`, the document keeps its other fields. Returns when
  /// the write is on stable storage.
  nonisolated(nonsending) public func setData(_ documentData: [String: Any], merge: Bool) async throws {
    try await firestore.batch().setData(documentData, forDocument: self, merge: merge).commit()
  }

  /// Sets the fields listed in `mergeFields` and ignores the rest of the data. Each element of `mergeFields`
  /// is a `FieldPath` or a string with dots.
  public func setData(_ documentData: [String: Any], mergeFields: [Any]) {
    firestore.batch().setData(documentData, forDocument: self, mergeFields: mergeFields).commit()
  }

  /// Sets the fields listed in `mergeFields`. `completion` runs on the callback queue when the write is
  /// durable or has failed.
  public func setData(
    _ documentData: [String: Any], mergeFields: [Any], completion: (((any Error)?) -> Void)?
  ) {
    firestore.batch().setData(documentData, forDocument: self, mergeFields: mergeFields).commit(
      completion: completion)
  }

  /// Sets the fields listed in `mergeFields`. Returns when the write is on stable storage.
  nonisolated(nonsending) public func setData(_ documentData: [String: Any], mergeFields: [Any]) async throws
  {
    try await firestore.batch().setData(documentData, forDocument: self, mergeFields: mergeFields).commit()
  }

  /// Changes fields of the document, which must exist. The keys are `FieldPath`s or strings with dots.
  public func updateData(_ fields: [AnyHashable: Any]) {
    firestore.batch().updateData(fields, forDocument: self).commit()
  }

  /// Changes fields of the document, which must exist. `completion` runs on the callback queue when the write
  /// is durable or has failed.
  public func updateData(_ fields: [AnyHashable: Any], completion: (((any Error)?) -> Void)?) {
    firestore.batch().updateData(fields, forDocument: self).commit(completion: completion)
  }

  /// Changes fields of the document. Throws `notFound` if the document does not exist.
  nonisolated(nonsending) public func updateData(_ fields: [AnyHashable: Any]) async throws {
    try await firestore.batch().updateData(fields, forDocument: self).commit()
  }

  /// Deletes the document. Does nothing if the document does not exist.
  public func delete() { firestore.batch().deleteDocument(self).commit() }

  /// Deletes the document. `completion` runs on the callback queue when the deletion is durable or has
  /// failed.
  public func delete(completion: (((any Error)?) -> Void)?) {
    firestore.batch().deleteDocument(self).commit(completion: completion)
  }

  /// Deletes the document. Returns when the deletion is on stable storage.
  nonisolated(nonsending) public func delete() async throws {
    try await firestore.batch().deleteDocument(self).commit()
  }

  // MARK: Values

  /// Replaces the document's contents with the fields of `value`, or creates the document. Throws if
  /// `value` cannot be encoded.
  public func setData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    try firestore.batch().setData(from: value, forDocument: self, encoder: encoder)
      .commit(completion: completion)
  }

  /// Sets the fields of `value` in the document. With `merge`, the document keeps its other fields.
  public func setData<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    try firestore.batch().setData(from: value, forDocument: self, merge: merge, encoder: encoder)
      .commit(completion: completion)
  }

  /// Sets the fields of `value` that are listed in `mergeFields`.
  public func setData<T: Encodable>(
    from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    try firestore.batch()
      .setData(from: value, forDocument: self, mergeFields: mergeFields, encoder: encoder)
      .commit(completion: completion)
  }

  // MARK: Async writes of values

  // Disfavored, so that an app that has its own extension with these labels still calls its own extension.

  /// Replaces the document's contents with the fields of `value`, or creates the document. Returns when it
  /// is on stable storage.
  ///
  /// ```swift
  /// struct City: Codable { var name: String }
  ///
  /// try await Firestore.firestore().document("cities/bern").setData(from: City(name: "Bern"))
  /// ```
  ///
  /// Throws `EncodingError` if `value` cannot be encoded, and `invalidArgument` if no document can hold its
  /// fields.
  @_disfavoredOverload
  nonisolated(nonsending) public func setData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await firestore.batch().setData(from: value, forDocument: self, encoder: encoder).commit()
  }

  /// Sets the fields of `value` in the document. With `merge`, the document keeps its other fields. Returns
  /// when the write is on stable storage.
  @_disfavoredOverload
  nonisolated(nonsending) public func setData<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await firestore.batch()
      .setData(from: value, forDocument: self, merge: merge, encoder: encoder).commit()
  }

  /// Sets the fields of `value` that are listed in `mergeFields`. Returns when the write is on stable
  /// storage.
  @_disfavoredOverload
  nonisolated(nonsending) public func setData<T: Encodable>(
    from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await firestore.batch()
      .setData(from: value, forDocument: self, mergeFields: mergeFields, encoder: encoder).commit()
  }
}
