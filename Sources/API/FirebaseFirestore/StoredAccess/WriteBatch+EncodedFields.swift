// Write methods for higher layers.
//
// They accept encoded fields, report errors where the public calls trap, and can return a result before the
// callback queue runs.

private import ByteStore
import DocumentStore
private import FirebaseCore
private import Foundation
private import OfflineSync

extension WriteBatch {
  /// Replaces the fields of `document`. With `merge`, sets these fields and keeps the others.
  @discardableResult
  package func setFields(
    _ fields: EncodedFields, forDocument document: DocumentReference, merge: Bool = false
  ) -> WriteBatch {
    add(document) { place in try reported { try place.set(fields, merge: merge) } }
  }

  /// Updates these fields of `document`, which must exist. A map is replaced as a whole. A dot in a name
  /// separates the name of a map from the name of a field inside it.
  @discardableResult
  package func updateFields(
    _ fields: EncodedFields, forDocument document: DocumentReference
  ) -> WriteBatch {
    add(document) { place in try reported { try place.update(fields) } }
  }

  /// Replaces the fields of `document`. A value that no document can hold fails the commit.
  package func setReported(_ fields: [String: Any], forDocument document: DocumentReference) {
    _ = add(document) { place in try reported { try place.set(fields, merge: false) } }
  }

  /// Sets or deletes these fields and keeps all others. Each field is replaced as a whole; a longer path
  /// names a field inside nested maps. Creates the document if it does not exist. A value that no document
  /// can hold fails the commit.
  package func mergeReported(
    _ changes: [(path: [String], value: Any)], forDocument document: DocumentReference
  ) {
    _ = add(document) { place in
      try reported {
        var fields: [String: Any] = [:]
        for change in changes { fields.place(change.value, at: change.path[...]) }
        return try place.set(fields, only: changes.map { FieldPath($0.path) })
      }
    }
  }

  /// Makes the commit fail with `error` and write nothing, because a write could not be encoded.
  package func fail(_ error: any Error) {
    state.withLock { $0.failure = $0.failure ?? error }
  }

  /// Commits, and passes the result to `handler` on an internal queue, after the listeners and before the
  /// result of any later write.
  package func commit(handler: @escaping @Sendable (Result<Void, any Error>) -> Void) { send(handler) }
}

extension [String: Any] {
  fileprivate mutating func place(_ value: Any, at path: ArraySlice<String>) {
    guard let name = path.first else { return }
    guard path.count > 1 else {
      self[name] = value
      return
    }
    var inner = self[name] as? [String: Any] ?? [:]
    inner.place(value, at: path.dropFirst())
    self[name] = inner
  }
}

/// The state that a document must have for the batch to commit.
package enum LayerRequirement: Sendable {
  case nothing, absent, present
  /// Requires the document to have the contents of this snapshot. If the snapshot includes pending writes,
  /// requires the contents that these writes produce. The requirement fails if the remote rejects one of
  /// these writes.
  case unchanged(DocumentSnapshot)

  fileprivate var precondition: PendingPrecondition {
    switch self {
    case .nothing: .none
    case .absent: .exists(false)
    case .present: .exists(true)
    case .unchanged(let snapshot):
      snapshot.stateRecord.map { record in
        record.updateTime.microseconds == 0
          ? .asRead(record.document.fields) : .updateTime(record.updateTime)
      } ?? .exists(false)
    }
  }
}

extension WriteBatch {
  /// Replaces the fields of `document`. Null fields are left out.
  @discardableResult
  package func makeFields(
    _ fields: EncodedFields, forDocument document: DocumentReference, requiring requirement: LayerRequirement
  ) -> WriteBatch {
    add(document, requiring: requirement.precondition) { place in
      try reported { try place.set(fields.withoutNulls, merge: false) }
    }
  }

  /// Replaces each of these fields, including maps, as a whole. A field that is null here is removed from the
  /// document. Dots in names have no special meaning. Creates the document if it does not exist.
  @discardableResult
  package func replaceFields(
    _ fields: EncodedFields, forDocument document: DocumentReference, requiring requirement: LayerRequirement
  ) -> WriteBatch {
    add(document, requiring: requirement.precondition) { place in
      try reported { try place.replace(fields) }
    }
  }

  @discardableResult
  package func deleteDocument(
    _ document: DocumentReference, requiring requirement: LayerRequirement
  ) -> WriteBatch {
    add(document, requiring: requirement.precondition) { .delete($0.path) }
  }

  /// Adds a requirement for `document` to the batch without writing the document.
  @discardableResult
  package func verify(_ document: DocumentReference, requiring requirement: LayerRequirement) -> WriteBatch {
    add(document, requiring: requirement.precondition) { .verify($0.path, .none) }
  }

  /// Adds the given amounts to numeric fields of `document`, and replaces negative results by 0. Creates the
  /// document if it does not exist.
  @discardableResult
  package func count(
    _ counts: [(field: String, by: Int64)], inDocument document: DocumentReference,
    requiring requirement: LayerRequirement
  ) -> WriteBatch {
    add(document, requiring: requirement.precondition) { place in
      let transforms = counts.flatMap { count in
        let field = StoredFieldPath(unchecked: [count.field])
        return [
          FieldTransform(field, .increment(.integer(count.by))), FieldTransform(field, .maximum(.integer(0))),
        ]
      }
      return .patch(place.path, StoredMap(), mask: FieldMask([]), transforms: transforms)
    }
  }
}

extension EncodedFields {
  fileprivate var withoutNulls: EncodedFields {
    var kept = self
    for (name, value) in fields.entries where value == .null { kept.fields[name] = nil }
    return kept
  }

  /// Removes a field of the outermost map from the write.
  package mutating func leaveOut(_ name: String) {
    fields[name] = nil
    sentinels.removeAll { $0.path.first == name }
  }

  /// Whether a field of the outermost map is written.
  package func has(_ name: String) -> Bool {
    fields[name] != nil || sentinels.contains { $0.path.first == name }
  }

  package mutating func set(_ name: String, to number: Int64) {
    leaveOut(name)
    fields[name] = .integer(number)
  }
}

extension UserWrite.Place {
  fileprivate func replace(_ encoded: EncodedFields) throws -> Mutation {
    let (fields, mask, transforms) = try encoded.replacement(in: firestore)
    return .patch(path, fields, mask: mask, transforms: transforms)
  }
}

extension EncodedFields {
  /// Whether the commit computes at least one field.
  package var isComputed: Bool { !sentinels.isEmpty }

  /// Returns the fields that a read would return after these fields have replaced those of `stored`. The
  /// local clock supplies the server timestamps. Returns nil if the fields cannot be written.
  package func replaced(over stored: DocumentSnapshot?, in firestore: Firestore) -> [String: Any]? {
    guard let (fields, mask, transforms) = try? replacement(in: firestore) else { return nil }
    let before = stored?.stored?.withTimes(.estimate).fields ?? StoredMap()
    var after = before.replacing(mask.paths, from: fields)
    let now = Timestamp().stored
    for transform in transforms {
      after.set(transform.operation.value(from: after[transform.field], at: now), at: transform.field)
    }
    return UserData.dictionary(from: after, in: firestore)
  }

  fileprivate func replacement(
    in firestore: Firestore
  ) throws(UserDataError) -> (StoredMap, FieldMask, [FieldTransform]) {
    var values = StoredMap()
    var masked: [StoredFieldPath] = []
    for (name, value) in fields.entries {
      let field = StoredFieldPath(unchecked: [name])
      if value != .null { values.set(value, at: field) }
      masked.append(field)
    }
    var transforms: [FieldTransform] = []
    for (names, sentinel) in sentinels {
      let outermost = StoredFieldPath(unchecked: [names[0]])
      if let operation = try sentinel.operation(in: firestore) {
        transforms.append(FieldTransform(StoredFieldPath(unchecked: names), operation))
        guard names.count > 1, !masked.contains(outermost) else { continue }
        // A map that contains only computed fields is not in `fields`, but it must be replaced too.
        values.set(.map(StoredMap()), at: outermost)
      } else if names.count > 1 {
        throw UserDataError(.deletionInsideUpdate, field: names)
      }
      if !masked.contains(outermost) { masked.append(outermost) }
    }
    // A field that is computed from its present value must not be overwritten first.
    let computed = Set(transforms.map(\.field))
    return (values, FieldMask(masked.filter { !computed.contains($0) }), transforms)
  }
}

/// Translates an error of `body` into an error of the API.
private func reported(_ body: () throws -> Mutation) throws -> Mutation {
  do {
    return try body()
  } catch let error as UserDataError {
    throw FirestoreErrors.translate(error)
  }
}

extension UserWrite.Place {
  fileprivate func update(_ encoded: EncodedFields) throws -> Mutation {
    if let mutation = plainUpdate(encoded) { return mutation }
    var changes: [(field: StoredFieldPath, change: Mutation.FieldChange)] = []
    for (name, value) in encoded.fields.entries { changes.append((try Self.field(name), .set(value))) }
    var transforms: [FieldTransform] = []
    for (names, sentinel) in encoded.sentinels {
      let outermost = try Self.field(names[0])
      let operation = try sentinel.operation(in: firestore)
      if names.count == 1 {
        changes.append((outermost, operation.map { .compute($0) } ?? .delete))
        continue
      }
      guard let operation else { throw UserDataError(.deletionInsideUpdate, field: names) }
      // A map that contains only computed fields is not in `fields`, but it must be replaced too.
      if !changes.contains(where: { $0.field == outermost }) {
        changes.append((outermost, .set(.map(StoredMap()))))
      }
      let inner = StoredFieldPath(unchecked: outermost.names + names.dropFirst())
      transforms.append(FieldTransform(inner, operation))
    }
    return try .update(path, changes.sorted { $0.field < $1.field }, transforms: transforms)
  }

  /// Returns an update without dots in its names, whose fields can stay encoded. Returns nil for other
  /// updates and for errors.
  private func plainUpdate(_ encoded: EncodedFields) -> Mutation? {
    var masked: [StoredFieldPath] = []
    for name in encoded.fields.names {
      guard Self.isPlain(name) else { return nil }
      masked.append(StoredFieldPath(unchecked: [name]))
    }
    var computed: [FieldTransform] = []
    var inner: [FieldTransform] = []
    for (names, sentinel) in encoded.sentinels {
      let isWritten = encoded.fields[names[0]] != nil
      guard Self.isPlain(names[0]), isWritten == (names.count > 1),
        case .success(let operation) = Result(catching: { try sentinel.operation(in: firestore) })
      else { return nil }
      let field = StoredFieldPath(unchecked: names)
      switch (operation, isWritten) {
      case (let operation?, true): inner.append(FieldTransform(field, operation))
      case (let operation?, false): computed.append(FieldTransform(field, operation))
      case (nil, false): masked.append(field)
      case (nil, true): return nil
      }
    }
    computed.sort { $0.field < $1.field }
    return .patch(
      path, encoded.fields, mask: FieldMask(masked), transforms: computed + inner, precondition: .exists(true)
    )
  }

  /// Whether a name is the path of its field, and within the limit of paths.
  private static func isPlain(_ name: String) -> Bool {
    !name.utf8.contains(UInt8(ascii: ".")) && name.utf8.count <= StoredFieldPath.bytesMax
      && (try? FieldCollector.check([name])) != nil
  }

  /// Interprets dots as steps into maps. A name that is not a valid dotted path is used as a single field
  /// name.
  private static func field(_ name: String) throws(UserDataError) -> StoredFieldPath {
    let field = (try? StoredFieldPath(dotted: name)) ?? StoredFieldPath(unchecked: [name])
    try FieldCollector.check(field.names)
    return field
  }
}
