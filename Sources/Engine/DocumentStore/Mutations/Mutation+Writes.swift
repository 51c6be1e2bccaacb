// The kinds of writes in the public API, expressed as mutations.

extension Mutation {
  /// The change of one field in an update.
  public enum FieldChange: Sendable, Equatable {
    /// Replaces the value.
    case set(StoredValue)
    /// Removes the field.
    case delete
    /// Computes the new value from the stored value.
    case compute(FieldTransform.Operation)
  }

  /// Sets every leaf of `fields` and removes the fields in `deletions`. An empty map is a leaf. Creates the
  /// document if it does not exist.
  public static func merge(
    _ path: DocumentPath, _ fields: StoredMap, deletions: [StoredFieldPath] = [],
    transforms: [FieldTransform] = []
  ) -> Mutation {
    let mask = FieldMask(leavesOf: fields).union(FieldMask(deletions))
    return .patch(path, fields, mask: mask, transforms: transforms)
  }

  /// Merges only the listed fields; the rest of the data is ignored. A listed field is replaced as a whole,
  /// even if it is a map. Throws `invalidArgument` if a listed field is not in the data, or if the path of a
  /// deletion exceeds a limit.
  public static func merge(
    _ path: DocumentPath, _ fields: StoredMap, only paths: [StoredFieldPath],
    deletions: [StoredFieldPath] = [], transforms: [FieldTransform] = []
  ) throws(DocumentStoreError) -> Mutation {
    let sentinels = deletions + transforms.map(\.field)
    for path in paths where fields[path] == nil && !sentinels.contains(where: path.isPrefix) {
      throw .invalidArgument(
        "Field '\(path)' is specified in your field mask but missing from your input data.")
    }
    let listed = FieldMask(paths)
    var fields = fields
    // A map that contains only deletions is still created.
    for deletion in deletions where listed.covers(deletion) && !listed.paths.contains(deletion) {
      try DocumentLimits.check(deletion, in: path)
      let map = StoredFieldPath(unchecked: deletion.names.dropLast())
      if fields[map] == nil { fields.set(.map(StoredMap()), at: map) }
    }
    let computed = Set(transforms.map(\.field))
    return .patch(
      path, fields, mask: FieldMask(listed.paths.filter { !computed.contains($0) }),
      transforms: transforms.filter { listed.covers($0.field) })
  }

  /// Changes fields of an existing document. `transforms` apply to fields inside the values that are set.
  /// Throws `invalidArgument` if a field is changed twice or is inside another changed field, or if a path
  /// exceeds a limit.
  public static func update(
    _ path: DocumentPath, _ changes: [(field: StoredFieldPath, change: FieldChange)],
    transforms: [FieldTransform] = [], precondition: Precondition = .exists(true)
  ) throws(DocumentStoreError) -> Mutation {
    try checkOverlap(changes.map(\.field), in: path)
    var fields = StoredMap()
    var masked: [StoredFieldPath] = []
    var computed: [FieldTransform] = []
    for (field, change) in changes {
      try DocumentLimits.check(field, in: path)
      switch change {
      case .set(let value):
        fields.set(value, at: field)
        masked.append(field)
      case .delete:
        masked.append(field)
      case .compute(let operation):
        computed.append(FieldTransform(field, operation))
      }
    }
    return .patch(
      path, fields, mask: FieldMask(masked), transforms: computed + transforms,
      precondition: precondition)
  }

  private static func checkOverlap(
    _ fields: [StoredFieldPath], in path: DocumentPath
  ) throws(DocumentStoreError) {
    let sorted = fields.sorted()
    for (outer, inner) in zip(sorted, sorted.dropFirst()) where outer.isPrefix(of: inner) {
      throw .invalidArgument(
        "An update cannot change both '\(outer)' and '\(inner)' (found in document \(path))")
    }
  }
}
