// How many documents of an index have an integer in a field, and how many a double: their keys are the same where
// the numbers are equal, and a sum is an integer only if all it adds are.

/// Of one document: a bit for each of the first fields of an index.
struct NumberBits: Equatable, Sendable {
  static let fieldsMax = UInt64.bitWidth

  var integers: UInt64 = 0
  var doubles: UInt64 = 0
}

/// Of all documents of an index.
struct NumberCounts: Equatable, Sendable {
  enum Kind { case integers, doubles }

  struct Count: Equatable, Sendable {
    var integers = 0
    var doubles = 0
  }

  /// For each of the first fields; none where nothing was counted.
  private(set) var counts: [Count]

  init(_ counts: [Count] = []) { self.counts = counts }

  mutating func add(_ bits: NumberBits, times: Int = 1) {
    var left = bits.integers | bits.doubles
    while left != 0 {
      let field = left.trailingZeroBitCount
      left &= left - 1
      while counts.count <= field { counts.append(Count()) }
      if bits.integers >> UInt64(field) & 1 == 1 { counts[field].integers += times }
      if bits.doubles >> UInt64(field) & 1 == 1 { counts[field].doubles += times }
    }
  }

  mutating func add(_ other: NumberCounts) {
    for (field, count) in other.counts.enumerated() {
      while counts.count <= field { counts.append(Count()) }
      counts[field].integers += count.integers
      counts[field].doubles += count.doubles
    }
  }

  /// What every number in a field is; nil if there are both, or nobody counts them.
  func kind(ofField field: Int) -> Kind? {
    guard field < NumberBits.fieldsMax else { return nil }
    guard field < counts.count else { return .integers }
    if counts[field].doubles == 0 { return .integers }
    return counts[field].integers == 0 ? .doubles : nil
  }

  /// Whether so many documents can have them.
  func isPossible(with documents: Int) -> Bool {
    counts.allSatisfy { $0.integers >= 0 && $0.doubles >= 0 && $0.integers + $0.doubles <= documents }
  }

  /// The same counts, whether fields without numbers are in the list or not.
  func agrees(with other: NumberCounts) -> Bool {
    (0..<max(counts.count, other.counts.count)).allSatisfy { self[$0] == other[$0] }
  }

  subscript(field: Int) -> Count { field < counts.count ? counts[field] : Count() }
}

extension IndexDefinition {
  /// What numbers a document has in the fields. `value` gives what it has in the field at a place
  /// among them.
  func numbers(_ value: (Int) -> StoredValue?) -> NumberBits {
    var bits = NumberBits()
    for (place, field) in fields.prefix(NumberBits.fieldsMax).enumerated() where field.part != .element {
      switch value(place) {
      case .integer: bits.integers |= 1 << UInt64(place)
      case .double: bits.doubles |= 1 << UInt64(place)
      default: break
      }
    }
    return bits
  }

  func numbers(of document: StoredDocument) -> NumberBits { numbers { document.value(of: fields[$0].path) } }
}
