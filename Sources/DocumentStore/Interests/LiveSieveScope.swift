// What is waited for in one collection, or in one collection group, as far as the sieve knows it.

import ByteStore

struct LiveSieveScope {
  private struct Field {
    /// Of a field that is in no other, and that not every document has.
    let name: String?
    /// Where it was in the document before.
    var place = 0
    let hash: UInt64
    var hasValues = false
    var hasElements = false
    /// Heads of keys: no range has something outside of them.
    var heads: ClosedRange<UInt64>?
    let field: LiveRangeField

    init(_ field: LiveRangeField) {
      self.field = field
      hash = LiveDigest.hash(of: field.path)
      name = field.path.names.count == 1 && !field.isNeverWithoutValue ? field.path.names[0] : nil
    }

    mutating func letsThrough(
      _ document: StoredDocument, _ marks: LiveMarks, _ key: inout [UInt8]
    ) -> Bool {
      guard let value = value(in: document) else { return false }
      if hasValues || heads != nil {
        let digest = LiveDigest(value, &key)
        if let heads, heads.contains(digest.head) { return true }
        if hasValues, marks.mayHave(digest.hash(in: hash, .value)) { return true }
      }
      guard hasElements, case .array(let list) = value else { return false }
      return list.contains { marks.mayHave(LiveDigest($0, &key).hash(in: hash, .element)) }
    }

    @inline(__always)
    private mutating func value(in document: StoredDocument) -> StoredValue? {
      guard let name else { return field.value(in: document) }
      return document.fields.value(of: name, near: &place)
    }
  }

  /// With more, what each document has to be asked costs more than the matcher.
  private static let fieldsMax = 32

  private var letsAllThrough = false
  private var fields: [Field] = []

  // MARK: Changes

  mutating func letsThrough(_ change: IndexChanges.Change, _ marks: LiveMarks, _ key: inout [UInt8]) -> Bool {
    if letsAllThrough { return true }
    switch change.before {
    case .none: break
    case .document(let document): if letsThrough(document, marks, &key) { return true }
    // Its values are not known.
    case .unknown: return true
    }
    return change.after.map { letsThrough($0, marks, &key) } ?? false
  }

  private mutating func letsThrough(
    _ document: StoredDocument, _ marks: LiveMarks, _ key: inout [UInt8]
  ) -> Bool {
    for number in fields.indices where fields[number].letsThrough(document, marks, &key) { return true }
    return false
  }

  // MARK: Views

  mutating func letAllThrough() {
    letsAllThrough = true
    fields = []
  }

  /// A range, or a value that gets its mark.
  mutating func note(_ anchor: LiveAnchor) {
    switch anchor {
    case .name, .either: break
    case .equal(let path, _):
      if let number = number(of: LiveRangeField(path: path)) { fields[number].hasValues = true }
    case .element(let path, _):
      if let number = number(of: LiveRangeField(path: path)) { fields[number].hasElements = true }
    case .range(let field, let ranges):
      guard let number = number(of: field) else { return }
      for range in ranges {
        let low = min(range.lower.head, fields[number].heads?.lowerBound ?? .max)
        let high = max(range.upper?.head ?? .max, fields[number].heads?.upperBound ?? 0)
        if low <= high { fields[number].heads = low...high }
      }
    }
  }

  /// Nil if all is let through.
  private mutating func number(of field: LiveRangeField) -> Int? {
    guard !letsAllThrough else { return nil }
    if let number = fields.firstIndex(where: { $0.field == field }) { return number }
    guard fields.count < Self.fieldsMax else {
      letAllThrough()
      return nil
    }
    fields.append(Field(field))
    return fields.count - 1
  }
}
