// A set of field numbers.

/// The numbers of the fields that a message has had. Small numbers, which nearly all fields have, need no
/// memory of their own.
struct FieldNumbers {
  private var small: UInt64 = 0
  private var large: Set<Int32> = []

  /// Returns false if the number is in the set already.
  mutating func insert(_ number: Int32) -> Bool {
    guard (0..<64).contains(number) else { return large.insert(number).inserted }
    let bit: UInt64 = 1 << UInt64(number)
    defer { small |= bit }
    return small & bit == 0
  }
}
