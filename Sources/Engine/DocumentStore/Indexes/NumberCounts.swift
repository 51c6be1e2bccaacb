// Counts the documents of an index that have an integer or a double in a field.
//
// An integer and a double that are equal have equal keys. A sum, however, is an integer only if all summed
// numbers are integers.

/// The number kinds of one document: one bit per field, for the first fields of an index.
struct NumberBits: Equatable, Sendable {
  static let fieldsMax = UInt64.bitWidth

  var integers: UInt64 = 0
  var doubles: UInt64 = 0
}

/// The number kinds of all documents of an index.
struct NumberCounts: Equatable, Sendable {
  enum Kind { case integers, doubles }

  struct Count: Equatable, Sendable {
    var integers = 0
    var doubles = 0
  }

  /// One count per field, for the first fields of the index. Trailing fields without numbers are left out.
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

  /// Returns the common kind of all numbers in a field. Returns nil if both kinds occur, or if the field is
  /// not counted.
  func kind(ofField field: Int) -> Kind? {
    guard field < NumberBits.fieldsMax else { return nil }
    guard field < counts.count else { return .integers }
    if counts[field].doubles == 0 { return .integers }
    return counts[field].integers == 0 ? .doubles : nil
  }

  /// Returns whether an index with this number of documents can have these counts.
  func isPossible(with documents: Int) -> Bool {
    counts.allSatisfy { $0.integers >= 0 && $0.doubles >= 0 && $0.integers + $0.doubles <= documents }
  }

  /// Compares the counts, ignoring missing entries for fields without numbers.
  func agrees(with other: NumberCounts) -> Bool {
    (0..<max(counts.count, other.counts.count)).allSatisfy { self[$0] == other[$0] }
  }

  subscript(field: Int) -> Count { field < counts.count ? counts[field] : Count() }
}

extension IndexDefinition {
  /// Returns the kinds of a document's numbers. `value` returns the value of a field, given the field's index
  /// in `fields`.
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
