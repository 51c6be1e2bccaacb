// Mutations of a document as values, and the function that applies them:
//
//   document after = apply(document before, mutation, commit time)

/// A change of one document.
///
/// ```swift
/// let store = try DocumentStore.open("shop-data")
/// let ada = try DocumentPath(["users", "ada"])
/// let visits = try StoredFieldPath(dotted: "visits")
/// try store.commit([
///   .set(ada, StoredMap([("name", .string("Ada"))]), precondition: .exists(false)),
///   .patch(
///     ada, StoredMap(), mask: FieldMask([]), transforms: [FieldTransform(visits, .increment(.integer(1)))]),
///   .delete(DocumentPath(["users", "bob"])),
/// ])
/// ```
public struct Mutation: Sendable, Equatable {
  /// The kinds of mutations.
  public enum Change: Sendable, Equatable {
    /// Replaces all fields, then applies the transforms.
    case set(StoredMap, [FieldTransform])
    /// Sets each field in the mask to its value in this map, or removes the field if the map lacks it. Then
    /// applies the transforms. Other fields stay unchanged. Creates the document if it does not exist.
    case patch(StoredMap, FieldMask, [FieldTransform])
    /// Deletes the document. Not an error if it does not exist.
    case delete
    /// Changes nothing. Only the precondition is checked.
    case verify
    /// Stores the document with these times. A cache uses this for documents from a remote.
    case place(StoredMap, createTime: StoredTimestamp, updateTime: StoredTimestamp)
  }

  /// The path of the document.
  public let path: DocumentPath
  /// The change.
  public let change: Change
  /// The precondition. If it fails, nothing of the commit is written.
  public let precondition: Precondition

  package init(_ path: DocumentPath, _ change: Change, precondition: Precondition) {
    self.path = path
    self.change = change
    self.precondition = precondition
  }

  /// Replaces the document. Transforms use the new fields, never the stored ones.
  public static func set(
    _ path: DocumentPath, _ fields: StoredMap, transforms: [FieldTransform] = [],
    precondition: Precondition = .none
  ) -> Mutation {
    Mutation(path, .set(fields, transforms), precondition: precondition)
  }

  /// Changes the fields in the mask and applies the transforms.
  public static func patch(
    _ path: DocumentPath, _ fields: StoredMap, mask: FieldMask, transforms: [FieldTransform] = [],
    precondition: Precondition = .none
  ) -> Mutation {
    Mutation(path, .patch(fields, mask, transforms), precondition: precondition)
  }

  /// Deletes the document; not an error if it does not exist.
  public static func delete(_ path: DocumentPath, precondition: Precondition = .none) -> Mutation {
    Mutation(path, .delete, precondition: precondition)
  }

  /// Writes nothing, and fails the commit unless the precondition holds.
  public static func verify(_ path: DocumentPath, _ precondition: Precondition) -> Mutation {
    Mutation(path, .verify, precondition: precondition)
  }

  package static func place(_ document: StoredDocument) -> Mutation {
    Mutation(
      document.path,
      .place(document.fields, createTime: document.createTime, updateTime: document.updateTime),
      precondition: .none)
  }

  /// The transforms, which are computed at commit time.
  public var transforms: [FieldTransform] { change.transforms }

  /// True for placed documents, which are not part of a user's request.
  package var isPlacement: Bool { if case .place = change { true } else { false } }

  /// Whether the resulting document depends on more than this mutation.
  var dependsOnStoredFields: Bool {
    switch change {
    case .set(_, let transforms): !transforms.isEmpty
    case .patch: true
    case .delete, .verify, .place: false
    }
  }

  // MARK: Applying

  /// Returns the document after this mutation, or nil if the mutation leaves no document. If no field
  /// changes, the document keeps its update time. Otherwise its update time becomes `updated`, or `time` if
  /// `updated` is nil. Throws `notFound`, `alreadyExists` or `failedPrecondition` if the precondition fails.
  package func apply(
    to base: StoredDocument?, at time: StoredTimestamp, updated: StoredTimestamp? = nil
  ) throws(DocumentStoreError) -> StoredDocument? {
    try outcome(on: base, at: time, updated: updated).document
  }

  package struct Outcome: Sendable, Equatable {
    package var document: StoredDocument?
    /// One result per transform, in order: the new value, or null for an operation on an array.
    package var transformResults: [StoredValue]
  }

  /// Applies the mutation and also returns the transform results.
  package func outcome(
    on base: StoredDocument?, at time: StoredTimestamp, updated: StoredTimestamp? = nil
  ) throws(DocumentStoreError) -> Outcome {
    try outcome(on: base, at: time, updated: updated, shapes: nil)
  }

  /// Applies the mutation, like `outcome`. If the changed fields are a record with shapes of this dictionary,
  /// so are the resulting fields. The head of their record may contain other times than the document.
  func outcome(
    on base: StoredDocument?, at time: StoredTimestamp, updated: StoredTimestamp?, shapes: ShapeDictionary?
  ) throws(DocumentStoreError) -> Outcome {
    try precondition.check(base, at: path, for: change.action)
    var after: StoredMap
    switch change {
    case .delete: return Outcome(document: nil, transformResults: [])
    case .verify: return Outcome(document: base, transformResults: [])
    case .place(let fields, let createTime, let updateTime):
      let placed = StoredDocument(
        path: path, createTime: createTime, updateTime: updateTime, fields: fields)
      return Outcome(document: placed, transformResults: [])
    case .set(let fields, let transforms):
      if !transforms.isEmpty, let shapes, let patch = RecordPatch(fields, shapes) {
        let times = Times(created: created(base, at: time), updated: updated ?? time)
        if let outcome = outcome(patch, base, times: times, at: time) { return outcome }
      }
      after = fields
    case .patch(let fields, let mask, let transforms):
      if let base, let shapes, let record = base.fields.record, shapes.owns(record.shapes) {
        let times = Times(created: created(base, at: time), updated: updated ?? time)
        let scalar =
          transforms.isEmpty
          ? outcome(replacing: fields, mask, of: record, base: base, times: times)
          : outcome(computing: mask, of: record, base: base, times: times, at: time)
        if let scalar { return scalar }
        if var patch = RecordPatch(base.fields, shapes) {
          patch.copy(mask.paths, from: fields)
          if let outcome = outcome(patch, base, times: times, at: time) { return outcome }
        }
      }
      after = (base?.fields ?? StoredMap()).replacing(mask.paths, from: fields)
    }
    let results = transforms.map { $0.apply(to: &after, at: time) }
    let document = StoredDocument(path, after, replacing: base, at: time, updated: updated ?? time)
    return Outcome(document: document, transformResults: results)
  }

  private func created(_ base: StoredDocument?, at time: StoredTimestamp) -> StoredTimestamp {
    StoredDocument.created(base, at: time)
  }

  // MARK: Records

  private struct Times {
    var created: StoredTimestamp
    /// The update time if a field changes.
    var updated: StoredTimestamp
  }

  /// The outcome of a patch without transforms that replaces scalars of a record. Nil for other patches.
  private func outcome(
    replacing fields: StoredMap, _ mask: FieldMask, of record: CheckedRecord, base: StoredDocument,
    times: Times
  ) -> Outcome? {
    guard fields.count == mask.paths.count, !mask.isEmpty, fields.record?.holdsOnlyScalars ?? true else {
      return nil
    }
    let entries = fields.entries
    // Use the buffer, because reading an array element would retain and release its name and value.
    let areReplaced = unsafe entries.withUnsafeBufferPointer { entries in
      for place in entries.indices {
        let names = mask.paths[place].names
        guard names.count == 1, unsafe names[0].isSameUTF8(as: entries.name(at: place).pointee) else {
          return false
        }
      }
      return true
    }
    guard areReplaced else { return nil }
    return outcome(replacing: entries, of: record, base: base, times: times, results: [])
  }

  /// The outcome of a single transform that replaces a scalar of a record. Nil for other patches.
  private func outcome(
    computing mask: FieldMask, of record: CheckedRecord, base: StoredDocument, times: Times,
    at time: StoredTimestamp
  ) -> Outcome? {
    guard mask.isEmpty, transforms.count == 1, let transform = transforms.first,
      transform.field.names.count == 1, transform.operation.elements == nil
    else { return nil }
    let name = transform.field.names[0]
    let value = transform.operation.value(from: record.value(of: name), at: time)
    return outcome(replacing: [(name, value)], of: record, base: base, times: times, results: [value])
  }

  private func outcome(
    replacing entries: [StoredMap.Entry], of record: CheckedRecord, base: StoredDocument, times: Times,
    results: [StoredValue]
  ) -> Outcome? {
    guard let patch = ScalarPatch(record, entries, created: times.created, updated: times.updated) else {
      return nil
    }
    let document = StoredDocument(
      path: path, createTime: times.created,
      updateTime: patch.isUnchanged ? base.updateTime : times.updated, fields: StoredMap(patch.record))
    return Outcome(document: document, transformResults: results)
  }

  /// The outcome of a patch of a record and the transforms after it. Nil if the patch cannot be written.
  private func outcome(
    _ patch: RecordPatch, _ base: StoredDocument?, times: Times, at time: StoredTimestamp
  ) -> Outcome? {
    var patch = patch
    let results = transforms.map { patch.apply($0, at: time) }
    guard let record = patch.record(created: times.created, updated: times.updated) else { return nil }
    let fields = StoredMap(record)
    var isUnchanged = false
    if let base {
      if case .patch = change { isUnchanged = patch.isUnchanged } else { isUnchanged = base.fields == fields }
    }
    let updateTime = isUnchanged ? base?.updateTime ?? times.updated : times.updated
    let document = StoredDocument(
      path: path, createTime: times.created, updateTime: updateTime, fields: fields)
    return Outcome(document: document, transformResults: results)
  }
}

extension StoredDocument {
  /// The document after a change of `base`, which keeps the update time of `base` if no field changes.
  init(
    _ path: DocumentPath, _ fields: StoredMap, replacing base: StoredDocument?, at time: StoredTimestamp,
    updated: StoredTimestamp
  ) {
    var updateTime = updated
    if let base, base.fields == fields { updateTime = base.updateTime }
    self.init(
      path: path, createTime: Self.created(base, at: time), updateTime: updateTime, fields: fields)
  }

  fileprivate static func created(_ base: StoredDocument?, at time: StoredTimestamp) -> StoredTimestamp {
    // The times of an unreadable record are lost, so the document counts as created now.
    guard let created = base?.createTime, created != .unreadable else { return time }
    return created
  }
}

extension Mutation.Change {
  package var transforms: [FieldTransform] {
    switch self {
    case .set(_, let transforms), .patch(_, _, let transforms): transforms
    case .delete, .verify, .place: []
    }
  }

  /// The verb for error messages.
  fileprivate var action: String {
    switch self {
    case .set, .patch, .place: "update"
    case .delete: "delete"
    case .verify: "verify"
    }
  }
}
