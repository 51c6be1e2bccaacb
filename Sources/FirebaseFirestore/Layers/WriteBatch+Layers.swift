// Writes of the layers above: fields that are encoded already, errors where programs that write dictionaries are
// trapped, and the outcome before it is on its way to the callback queue.

import DocumentStore

extension WriteBatch {
  /// Makes `document` consist of these fields, or with `merge` sets them and leaves the others.
  @discardableResult
  package func setFields(
    _ fields: EncodedFields, forDocument document: DocumentReference, merge: Bool = false
  ) -> WriteBatch {
    add(document) { [firestore] path in
      try reported { try UserWrite.set(path, fields, merge: merge, in: firestore) }
    }
  }

  /// Changes these fields of `document`, which has to be there. Maps are replaced as a whole, and names with dots
  /// lead into maps.
  @discardableResult
  package func updateFields(
    _ fields: EncodedFields, forDocument document: DocumentReference
  ) -> WriteBatch {
    add(document) { [firestore] path in
      try reported { try UserWrite.update(path, fields, in: firestore) }
    }
  }

  /// A write could not be made: the commit reports `error`, and nothing is written.
  package func fail(_ error: any Error) {
    state.withLock { $0.failure = $0.failure ?? error }
  }

  /// `told` learns the outcome on a queue of ours, after the listeners and before any write that was issued later.
  package func commit(told: @escaping @Sendable (Result<Void, any Error>) -> Void) { send(told) }
}

extension EncodedFields {
  /// Has the commit compute a field of the outermost map, whatever it is now.
  package mutating func compute(_ name: String, _ value: FieldValue) {
    fields[name] = nil
    sentinels.removeAll { $0.path.first == name }
    sentinels.append(([name], value))
  }
}

/// What `body` throws, as an error of the API.
private func reported(_ body: () throws -> Mutation) throws -> Mutation {
  do {
    return try body()
  } catch let error as UserDataError {
    throw FirestoreErrors.make(.invalidArgument, error.message)
  }
}

extension UserWrite {
  fileprivate static func update(
    _ path: DocumentPath, _ encoded: EncodedFields, in firestore: Firestore
  ) throws -> Mutation {
    var changes: [(field: StoredFieldPath, change: Mutation.FieldChange)] = []
    for (name, value) in encoded.fields.entries { changes.append((try field(name), .set(value))) }
    var transforms: [FieldTransform] = []
    for (names, sentinel) in encoded.sentinels {
      let outermost = try field(names[0])
      let operation = try sentinel.operation(in: firestore)
      if names.count == 1 {
        changes.append((outermost, operation.map { .compute($0) } ?? .delete))
        continue
      }
      guard let operation else { throw UserDataError(.deletionInsideUpdate, field: names) }
      // A map that holds nothing else was left out of the fields, and is replaced all the same.
      if !changes.contains(where: { $0.field == outermost }) {
        changes.append((outermost, .set(.map(StoredMap()))))
      }
      let inner = StoredFieldPath(unchecked: outermost.names + names.dropFirst())
      transforms.append(FieldTransform(inner, operation))
    }
    return try .update(path, changes.sorted { $0.field < $1.field }, transforms: transforms)
  }

  /// Dots lead into maps; a name that is no such text is taken as it is.
  private static func field(_ name: String) throws(UserDataError) -> StoredFieldPath {
    let field = (try? StoredFieldPath(dotted: name)) ?? StoredFieldPath(unchecked: [name])
    try FieldCollector.check(field.names)
    return field
  }
}
