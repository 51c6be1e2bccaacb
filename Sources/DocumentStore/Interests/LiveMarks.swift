// A set of numbers that is right when it says no.

/// Hashes. Where it should say no, it sometimes says yes; either takes one look into memory.
struct LiveMarks {
  private static let bitsForEach = 16

  private var words: [UInt64]
  private let mask: Int
  private var room: Int

  init(capacity: Int) {
    var size = 8
    while size < capacity { size *= 2 }
    room = size
    words = Array(repeating: 0, count: size * Self.bitsForEach / UInt64.bitWidth)
    mask = words.count - 1
  }

  /// False if there is no room.
  mutating func insert(_ hash: UInt64) -> Bool {
    if mayHave(hash) { return true }
    guard room > 0 else { return false }
    room -= 1
    words[place(of: hash)] |= Self.bits(of: hash)
    return true
  }

  @inline(__always)
  func mayHave(_ hash: UInt64) -> Bool {
    let bits = Self.bits(of: hash)
    // What an array checks lies at its beginning, and that would be another look. The mask stays within it.
    let word = unsafe words.withUnsafeBufferPointer { unsafe $0[place(of: hash)] }
    return word & bits == bits
  }

  @inline(__always)
  private func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 32) & mask }

  /// Three, or fewer.
  @inline(__always)
  private static func bits(of hash: UInt64) -> UInt64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63)
  }
}
