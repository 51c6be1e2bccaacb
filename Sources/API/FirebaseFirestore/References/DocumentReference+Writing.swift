// Writing one document: each a batch of one.

private import Foundation

extension DocumentReference {
  /// Makes the document consist of these fields.
  public func setData(_ documentData: [String: Any]) {
    firestore.batch().setData(documentData, forDocument: self).commit()
  }

  /// The same; `completion` runs on the callback queue once the write is durable, or with an error.
  public func setData(_ documentData: [String: Any], completion: (((any Error)?) -> Void)?) {
    firestore.batch().setData(documentData, forDocument: self).commit(completion: completion)
  }

  /// Replaces the document; returns when it is on stable storage.
  nonisolated(nonsending) public func setData(_ documentData: [String: Any]) async throws {
    try await firestore.batch().setData(documentData, forDocument: self).commit()
  }

  /// With `merge`, sets these fields and leaves the others; makes the document if there is none.
  public func setData(_ documentData: [String: Any], merge: Bool) {
    firestore.batch().setData(documentData, forDocument: self, merge: merge).commit()
  }

  /// The same; `completion` runs on the callback queue once the write is durable, or with an error.
  public func setData(_ documentData: [String: Any], merge: Bool, completion: (((any Error)?) -> Void)?) {
    firestore.batch().setData(documentData, forDocument: self, merge: merge).commit(completion: completion)
  }

  /// Replaces the document, or merges into it; returns when it is on stable storage.
  nonisolated(nonsending) public func setData(_ documentData: [String: Any], merge: Bool) async throws {
    try await firestore.batch().setData(documentData, forDocument: self, merge: merge).commit()
  }

  /// Sets only the listed ones of these fields. Each is a `FieldPath`, or text with dots.
  public func setData(_ documentData: [String: Any], mergeFields: [Any]) {
    firestore.batch().setData(documentData, forDocument: self, mergeFields: mergeFields).commit()
  }

  /// The same; `completion` runs on the callback queue once the write is durable, or with an error.
  public func setData(
    _ documentData: [String: Any], mergeFields: [Any], completion: (((any Error)?) -> Void)?
  ) {
    firestore.batch().setData(documentData, forDocument: self, mergeFields: mergeFields).commit(
      completion: completion)
  }

  /// Merges the named fields alone; returns when it is on stable storage.
  nonisolated(nonsending) public func setData(_ documentData: [String: Any], mergeFields: [Any]) async throws
  {
    try await firestore.batch().setData(documentData, forDocument: self, mergeFields: mergeFields).commit()
  }

  /// Changes fields of the document, which has to be there. The keys are `FieldPath`s, or text with dots.
  public func updateData(_ fields: [AnyHashable: Any]) {
    firestore.batch().updateData(fields, forDocument: self).commit()
  }

  /// The same; `completion` runs on the callback queue once the write is durable, or with an error.
  public func updateData(_ fields: [AnyHashable: Any], completion: (((any Error)?) -> Void)?) {
    firestore.batch().updateData(fields, forDocument: self).commit(completion: completion)
  }

  /// Changes the named fields; throws `notFound` if there is no document.
  nonisolated(nonsending) public func updateData(_ fields: [AnyHashable: Any]) async throws {
    try await firestore.batch().updateData(fields, forDocument: self).commit()
  }

  /// Removes the document; fine if there is none.
  public func delete() { firestore.batch().deleteDocument(self).commit() }

  /// The same; `completion` runs on the callback queue once the write is durable, or with an error.
  public func delete(completion: (((any Error)?) -> Void)?) {
    firestore.batch().deleteDocument(self).commit(completion: completion)
  }

  /// Removes the document; returns when that is on stable storage.
  nonisolated(nonsending) public func delete() async throws {
    try await firestore.batch().deleteDocument(self).commit()
  }

  // MARK: Values

  /// Makes the document consist of the fields of `value`; throws if `value` cannot be encoded.
  public func setData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    try firestore.batch().setData(from: value, forDocument: self, encoder: encoder)
      .commit(completion: completion)
  }

  /// With `merge`, sets the fields of `value` and leaves the others.
  public func setData<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    try firestore.batch().setData(from: value, forDocument: self, merge: merge, encoder: encoder)
      .commit(completion: completion)
  }

  /// Sets only the listed ones of the fields of `value`.
  public func setData<T: Encodable>(
    from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder(),
    completion: (((any Error)?) -> Void)? = nil
  ) throws {
    try firestore.batch()
      .setData(from: value, forDocument: self, mergeFields: mergeFields, encoder: encoder)
      .commit(completion: completion)
  }

  // MARK: Values, until they are durable

  // Disfavored, so that an app's own extension with these labels stays what the app calls.

  /// Makes the document consist of the fields of `value`; returns when it is on stable storage.
  ///
  /// ```swift
  /// struct City: Codable { var name: String }
  ///
  /// try await Firestore.firestore().document("cities/bern").setData(from: City(name: "Bern"))
  /// ```
  ///
  /// Throws `EncodingError` if `value` cannot be encoded.
  @_disfavoredOverload
  nonisolated(nonsending) public func setData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await firestore.batch().setData(from: value, forDocument: self, encoder: encoder).commit()
  }

  /// With `merge`, sets the fields of `value` and leaves the others; returns when it is on stable storage.
  @_disfavoredOverload
  nonisolated(nonsending) public func setData<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await firestore.batch()
      .setData(from: value, forDocument: self, merge: merge, encoder: encoder).commit()
  }

  /// Sets only the listed ones of the fields of `value`; returns when it is on stable storage.
  @_disfavoredOverload
  nonisolated(nonsending) public func setData<T: Encodable>(
    from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await firestore.batch()
      .setData(from: value, forDocument: self, mergeFields: mergeFields, encoder: encoder).commit()
  }
}
