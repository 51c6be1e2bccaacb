// Encodes the new fields of mutations, so that a commit only copies their bytes.

extension Mutation {
  /// Whether the mutation replaces all fields and has no transforms.
  var isReplacement: Bool {
    if case .set(_, let transforms) = change { transforms.isEmpty } else { false }
  }

  /// The mutation with a record as the new fields of the whole document.
  func encoded(as record: CheckedRecord?) -> Mutation {
    guard let record else { return self }
    switch change {
    case .set(_, let transforms):
      return Mutation(path, .set(StoredMap(record), transforms), precondition: precondition)
    case .place(_, let createTime, let updateTime):
      return Mutation(
        path, .place(StoredMap(record), createTime: createTime, updateTime: updateTime),
        precondition: precondition)
    case .patch, .delete, .verify:
      return self
    }
  }
}

extension StoredMap {
  /// The fields as a record with these shapes. Nil if they exceed a limit.
  func recordWithinLimits(_ shapes: ShapeDictionary) -> CheckedRecord? {
    if let record, shapes.owns(record.shapes), !record.lacksShapes { return record }
    return FieldsEncoder.recordWithinLimits(of: self, shapes: shapes)
  }
}
