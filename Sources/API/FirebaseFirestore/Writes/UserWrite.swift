// Converts the writes of the API to mutations.

import DocumentStore
private import FirebaseCore
private import Foundation

enum UserWrite {
  static func check(_ document: DocumentReference, belongsTo firestore: Firestore) throws {
    guard document.firestore !== firestore else { return }
    throw Validation.misuse("Provided document reference is from a different Cloud Firestore instance.")
  }

  /// Calls `make` with the document's place and returns the mutation. Reports a misuse of the API. Returns an
  /// error after a misuse, and if the write only exceeds a limit that a server would also enforce. The misuse
  /// may also be an earlier one of the same validation, because the data may then contain a placeholder.
  static func mutation(
    of document: DocumentReference, in firestore: Firestore, _ make: (Place) throws -> Mutation
  ) -> Result<Mutation, any Error> {
    if let misuse = ProgrammerError.reported {
      return .failure(FirestoreErrors.make(.invalidArgument, misuse))
    }
    do {
      try check(document, belongsTo: firestore)
      return .success(try make(Place(path: try document.storedPath, firestore: document.firestore)))
    } catch let error as UserDataError {
      if error.reason != .nestedTooDeeply { ProgrammerError.report(error.message) }
      return .failure(FirestoreErrors.translate(error))
    } catch {
      return .failure(FirestoreErrors.translate(any: error))
    }
  }

  /// Encodes the fields of a value. Throws `EncodingError`, or `invalidArgument` if no document can hold the
  /// fields.
  static func encode(
    _ value: some Encodable, _ encoder: Firestore.Encoder, in firestore: Firestore
  ) throws -> EncodedFields {
    do {
      return try encoder.encodeFields(value, in: firestore)
    } catch let error as UserDataError {
      throw FirestoreErrors.translate(error)
    }
  }

  /// The document that a write changes. The methods of this type create all mutations of batches and
  /// transactions.
  struct Place {
    let path: DocumentPath
    let firestore: Firestore

    func set(_ data: [String: Any], merge: Bool) throws -> Mutation {
      if merge { return try set(try UserData.patch(from: data, in: firestore), merge: true) }
      if let encoder = firestore.fieldsEncoder,
        let fields = DictionaryWriter.fields(data, with: encoder, in: firestore)
      {
        return try set(fields, merge: false)
      }
      return try set(try UserData.fields(from: data, in: firestore), merge: false)
    }

    func set(_ data: [String: Any], only mergeFields: [Any]) throws -> Mutation {
      try set(try UserData.patch(from: data, in: firestore), only: mergeFields)
    }

    func set(_ encoded: EncodedFields, merge: Bool) throws(UserDataError) -> Mutation {
      try merge
        ? UserWrite.merge(path, encoded, in: firestore) : UserWrite.set(path, encoded, in: firestore)
    }

    func set(_ encoded: EncodedFields, only mergeFields: [Any]) throws -> Mutation {
      try UserWrite.merge(path, encoded, only: mergeFields, in: firestore)
    }

    func update(_ fields: [AnyHashable: Any]) throws -> Mutation {
      try UserWrite.update(path, fields, in: firestore)
    }
  }

  /// Replaces the document's contents with these fields.
  private static func set(
    _ path: DocumentPath, _ encoded: EncodedFields, in firestore: Firestore
  ) throws(UserDataError) -> Mutation {
    let (transforms, deletions) = try split(encoded.sentinels, in: firestore)
    if let deletion = deletions.first {
      throw UserDataError(.deletionWithoutMerge, field: deletion.names)
    }
    return .set(path, encoded.fields, transforms: transforms)
  }

  /// Sets these fields and keeps the document's other fields.
  private static func merge(
    _ path: DocumentPath, _ encoded: EncodedFields, in firestore: Firestore
  ) throws(UserDataError) -> Mutation {
    let (transforms, deletions) = try split(encoded.sentinels, in: firestore)
    return .merge(path, encoded.fields, deletions: deletions, transforms: transforms)
  }

  /// Sets the fields listed in `mergeFields`. Throws `UserDataError` or an error of the engine.
  private static func merge(
    _ path: DocumentPath, _ encoded: EncodedFields, only mergeFields: [Any], in firestore: Firestore
  ) throws -> Mutation {
    let listed = try mergeFields.map(path(ofMerge:))
    let (transforms, deletions) = try split(encoded.sentinels, in: firestore)
    let sentinels = transforms.map(\.field) + deletions
    for field in listed where encoded.fields[field] == nil && !sentinels.contains(where: field.isPrefix) {
      throw Validation.misuse(
        "Field '\(field)' is specified in your field mask but missing from your input data.")
    }
    return try .merge(
      path, encoded.fields, only: listed, deletions: deletions, transforms: transforms)
  }

  private static func path(ofMerge field: Any) throws -> StoredFieldPath {
    guard let path = FieldPath.any(field) else {
      throw Validation.misuse("All elements in mergeFields: must be NSStrings or FIRFieldPaths.")
    }
    return path
  }

  /// Changes fields of an existing document. Throws `UserDataError` or an error of the engine.
  private static func update(
    _ path: DocumentPath, _ data: [AnyHashable: Any], in firestore: Firestore
  ) throws -> Mutation {
    let updates = try updates(data)
    if let mutation = encodedUpdate(path, updates, in: firestore) { return mutation }
    var changes: [(field: StoredFieldPath, change: Mutation.FieldChange)] = []
    var transforms: [FieldTransform] = []
    for (field, value) in updates {
      let (change, inner) = try self.change(value, at: field, in: firestore)
      changes.append((field, change))
      transforms += inner
    }
    return try .update(path, changes, transforms: transforms)
  }

  /// Returns an update whose values are a record. Returns nil if the values are scalars, which need no
  /// record, and if a value may be invalid.
  private static func encodedUpdate(
    _ path: DocumentPath, _ updates: [DictionaryWriter.FieldUpdate], in firestore: Firestore
  ) -> Mutation? {
    var values: [DictionaryWriter.FieldUpdate] = []
    var masked: [StoredFieldPath] = []
    var computed: [FieldTransform] = []
    var areScalars = true
    for (field, value) in updates {
      let isScalar = UserData.scalar(value) != nil
      if !isScalar, let sentinel = FieldValue.sentinel(value) {
        guard case .success(let operation) = Result(catching: { try sentinel.operation(in: firestore) })
        else { return nil }
        if let operation { computed.append(FieldTransform(field, operation)) } else { masked.append(field) }
        continue
      }
      areScalars = areScalars && isScalar
      masked.append(field)
      values.append((field, value))
    }
    guard !areScalars, areSeparate(updates), let encoder = firestore.fieldsEncoder?.forPatches,
      let encoded = DictionaryWriter.fields(values, with: encoder, in: firestore),
      let (transforms, deletions) = try? split(encoded.sentinels, in: firestore), deletions.isEmpty
    else { return nil }
    return .patch(
      path, encoded.fields, mask: FieldMask(masked), transforms: computed + transforms,
      precondition: .exists(true))
  }

  /// Whether no field is inside another, and no path exceeds the limit.
  private static func areSeparate(_ updates: [DictionaryWriter.FieldUpdate]) -> Bool {
    let bytesMax = StoredFieldPath.bytesMax
    for (outer, inner) in zip(updates, updates.dropFirst()) where outer.field.isPrefix(of: inner.field) {
      return false
    }
    return updates.allSatisfy { $0.field.names.reduce(-1) { $0 + $1.utf8.count + 1 } <= bytesMax }
  }

  /// Returns the updates sorted by field, so that their order does not depend on the order of the dictionary.
  private static func updates(
    _ data: [AnyHashable: Any]
  ) throws -> [DictionaryWriter.FieldUpdate] {
    var updates: [DictionaryWriter.FieldUpdate] = []
    for (key, value) in data {
      guard let field = FieldPath.any(key.base) else {
        throw Validation.misuse("Dictionary keys in updateData: must be NSStrings or FIRFieldPaths.")
      }
      try FieldCollector.check(field.names)
      updates.append((field, value))
    }
    return updates.sorted { $0.field < $1.field }
  }

  private static func change(
    _ any: Any, at field: StoredFieldPath, in firestore: Firestore
  ) throws(UserDataError) -> (Mutation.FieldChange, [FieldTransform]) {
    if let scalar = UserData.scalar(any) { return (.set(scalar), []) }
    if let sentinel = FieldValue.sentinel(any) {
      return (try sentinel.operation(in: firestore).map { .compute($0) } ?? .delete, [])
    }
    let (value, sentinels) = try UserData.value(from: any, at: field.names, in: firestore)
    let (transforms, deletions) = try split(sentinels, in: firestore)
    if let deletion = deletions.first { throw UserDataError(.deletionInsideUpdate, field: deletion.names) }
    return (.set(value ?? .map(StoredMap())), transforms)
  }

  // MARK: Sentinels

  private static func split(
    _ sentinels: [EncodedFields.Sentinel], in firestore: Firestore
  ) throws(UserDataError) -> (transforms: [FieldTransform], deletions: [StoredFieldPath]) {
    var transforms: [FieldTransform] = []
    var deletions: [StoredFieldPath] = []
    for (names, sentinel) in sentinels {
      let field = StoredFieldPath(unchecked: names)
      if let operation = try sentinel.operation(in: firestore) {
        transforms.append(FieldTransform(field, operation))
      } else {
        deletions.append(field)
      }
    }
    return (transforms, deletions)
  }
}
