// Encodes the new fields of mutations, so that a commit only copies their bytes.

extension Mutation {
  /// The mutation with the new fields of a whole document as a record with these shapes. Fields beyond the
  /// limits of documents stay as they are.
  func encoded(_ shapes: ShapeDictionary) -> Mutation {
    switch change {
    case .set(let fields, let transforms):
      guard let fields = fields.encoded(shapes) else { return self }
      return Mutation(path, .set(fields, transforms), precondition: precondition)
    case .place(let fields, let createTime, let updateTime):
      guard let fields = fields.encoded(shapes) else { return self }
      return Mutation(
        path, .place(fields, createTime: createTime, updateTime: updateTime), precondition: precondition)
    case .patch, .delete, .verify:
      return self
    }
  }
}

extension StoredMap {
  /// The fields as a record with these shapes. Nil if they already are one, or if they exceed a limit.
  fileprivate func encoded(_ shapes: ShapeDictionary) -> StoredMap? {
    if let record, shapes.owns(record.shapes) { return nil }
    return FieldsEncoder.recordWithinLimits(of: self, shapes: shapes).map { StoredMap($0) }
  }
}
