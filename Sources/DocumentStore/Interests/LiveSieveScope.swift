// What is waited for in one collection, or in one collection group, as far as the sieve knows it.
//
// Outermost fields are looked at where they lie: each copy would be counted, and the counting would take longer than all the
// rest.

import ByteStore

struct LiveSieveScope {
  /// What is waited for in a field.
  private struct Wanted {
    let hash: UInt64
    var hasValues = false
    var hasElements = false
    /// Heads of keys: no range has something outside of them.
    var heads: ClosedRange<UInt64>?

    init(_ path: StoredFieldPath) { hash = LiveDigest.hash(of: path) }

    @inline(__always)
    func letsThrough(
      _ value: UnsafePointer<StoredValue>, _ marks: LiveMarks, _ key: inout [UInt8]
    ) -> Bool {
      if hasValues || heads != nil {
        let digest = unsafe LiveDigest(value, &key)
        if let heads, heads.contains(digest.head) { return true }
        if hasValues, marks.mayHave(digest.hash(in: hash, .value)) { return true }
      }
      guard hasElements, case .array(let list) = unsafe value.pointee else { return false }
      return list.contains { element in
        let digest = unsafe withUnsafePointer(to: element) { unsafe LiveDigest($0, &key) }
        return marks.mayHave(digest.hash(in: hash, .element))
      }
    }
  }

  /// A field that is in no other, and that not every document has.
  private struct Outermost {
    let name: String
    /// Where it was in the document before.
    var place = 0
    var wanted: Wanted
  }

  private struct Other {
    let field: LiveRangeField
    var wanted: Wanted
  }

  /// With more, what each document has to be asked costs more than the matcher.
  private static let fieldsMax = 32

  private var letsAllThrough = false
  private var outermost: [Outermost] = []
  private var others: [Other] = []

  // MARK: Changes

  @inline(__always)
  mutating func letsThrough(
    _ change: UnsafePointer<IndexChanges.Change>, _ marks: LiveMarks, _ key: inout [UInt8]
  ) -> Bool {
    if letsAllThrough { return true }
    switch unsafe change.pointee.before {
    case .none: break
    case .document(let document): if letsThrough(document, marks, &key) { return true }
    // Its values are not known.
    case .unknown: return true
    }
    if let fields = unsafe change.pointee.after?.fields, letsThrough(fields, marks, &key) { return true }
    guard !others.isEmpty, let after = unsafe change.pointee.after else { return false }
    return othersLetThrough(after, marks, &key)
  }

  private mutating func letsThrough(
    _ document: StoredDocument, _ marks: LiveMarks, _ key: inout [UInt8]
  ) -> Bool {
    letsThrough(document.fields, marks, &key) || othersLetThrough(document, marks, &key)
  }

  private mutating func letsThrough(
    _ fields: StoredMap, _ marks: LiveMarks, _ key: inout [UInt8]
  ) -> Bool {
    unsafe outermost.withUnsafeMutableBufferPointer { outermost in
      unsafe fields.entries.withUnsafeBufferPointer { entries in
        for number in outermost.indices {
          guard unsafe fields.has(outermost[number].name, near: &outermost[number].place) else { continue }
          let value = unsafe entries.value(at: outermost[number].place)
          if unsafe outermost[number].wanted.letsThrough(value, marks, &key) { return true }
        }
        return false
      }
    }
  }

  private func othersLetThrough(
    _ document: StoredDocument, _ marks: LiveMarks, _ key: inout [UInt8]
  ) -> Bool {
    for other in others {
      guard let value = other.field.value(in: document) else { continue }
      let isWanted = unsafe withUnsafePointer(to: value) { value in
        unsafe other.wanted.letsThrough(value, marks, &key)
      }
      if isWanted { return true }
    }
    return false
  }

  // MARK: Views

  mutating func letAllThrough() {
    letsAllThrough = true
    outermost = []
    others = []
  }

  /// A range, or a value that gets its mark.
  mutating func note(_ anchor: LiveAnchor) {
    switch anchor {
    case .name, .either: break
    case .equal(let path, _): change(LiveRangeField(path: path)) { $0.hasValues = true }
    case .element(let path, _): change(LiveRangeField(path: path)) { $0.hasElements = true }
    case .range(let field, let ranges):
      change(field) { wanted in
        for range in ranges {
          let low = min(range.lower.head, wanted.heads?.lowerBound ?? .max)
          let high = max(range.upper?.head ?? .max, wanted.heads?.upperBound ?? 0)
          if low <= high { wanted.heads = low...high }
        }
      }
    }
  }

  /// Unless all is let through.
  private mutating func change(_ field: LiveRangeField, _ body: (inout Wanted) -> Void) {
    guard !letsAllThrough else { return }
    let isOutermost = field.path.names.count == 1 && !field.isNeverWithoutValue
    if isOutermost, let name = field.path.names.first {
      if let number = outermost.firstIndex(where: { $0.name.isSameUTF8(as: name) }) {
        return body(&outermost[number].wanted)
      }
    } else if let number = others.firstIndex(where: { $0.field == field }) {
      return body(&others[number].wanted)
    }
    guard outermost.count + others.count < Self.fieldsMax else { return letAllThrough() }
    var wanted = Wanted(field.path)
    body(&wanted)
    if isOutermost, let name = field.path.names.first {
      outermost.append(Outermost(name: name, wanted: wanted))
    } else {
      others.append(Other(field: field, wanted: wanted))
    }
  }
}
