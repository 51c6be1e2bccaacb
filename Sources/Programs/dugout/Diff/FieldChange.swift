// The differences of two maps, field by field.

import DocumentStore

/// A field that differs. A missing value is nil.
struct FieldChange: Equatable {
  /// The path of the field, such as `address.city` or `tags[2]`.
  var field: String
  var before: StoredValue?
  var after: StoredValue?

  /// Compares maps inside maps field by field, and arrays element by element.
  static func changes(from before: StoredMap, to after: StoredMap) -> [FieldChange] {
    guard before != after else { return [] }
    var changes: [FieldChange] = []
    add(before, after, below: "", to: &changes)
    return changes
  }

  private static func add(
    _ before: StoredMap, _ after: StoredMap, below path: String, to changes: inout [FieldChange]
  ) {
    var (left, right) = (before.entries[...], after.entries[...])
    while let name = first(left.first?.name, right.first?.name) {
      let old = left.first?.name.isSameUTF8(as: name) == true ? left.removeFirst().value : nil
      let new = right.first?.name.isSameUTF8(as: name) == true ? right.removeFirst().value : nil
      let field = (path.isEmpty ? "" : path + ".") + StoredFieldPath.canonical([name])
      add(old, new, at: field, to: &changes)
    }
  }

  private static func first(_ left: String?, _ right: String?) -> String? {
    guard let left, let right else { return left ?? right }
    return right.precedesInUTF8(left) ? right : left
  }

  private static func add(
    _ before: StoredValue?, _ after: StoredValue?, at field: String, to changes: inout [FieldChange]
  ) {
    switch (before, after) {
    case (.map(let old)?, .map(let new)?): add(old, new, below: field, to: &changes)
    case (.array(let old)?, .array(let new)?): add(old, new, at: field, to: &changes)
    case _ where before != after:
      changes.append(FieldChange(field: field, before: before, after: after))
    default: break
    }
  }

  /// Leaves out equal elements at the start and at the end, and compares the others in pairs.
  private static func add(
    _ before: [StoredValue], _ after: [StoredValue], at field: String, to changes: inout [FieldChange]
  ) {
    let start = zip(before, after).prefix { $0 == $1 }.count
    let left = before.dropFirst(start)
    let right = after.dropFirst(start)
    let end = zip(left.reversed(), right.reversed()).prefix { $0 == $1 }.count
    let (old, new) = (Array(left.dropLast(end)), Array(right.dropLast(end)))
    for place in 0..<max(old.count, new.count) {
      add(
        place < old.count ? old[place] : nil, place < new.count ? new[place] : nil,
        at: "\(field)[\(start + place)]", to: &changes)
    }
  }
}
