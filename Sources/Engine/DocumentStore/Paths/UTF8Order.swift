// Compares strings by their UTF-8 bytes. Swift's own order and equality are slower, and they treat
// canonically equivalent strings as equal.

import Libc

extension String {
  /// Whether this sorts before `other` by unsigned UTF-8 bytes.
  package func precedesInUTF8(_ other: String) -> Bool { comparedInUTF8(to: other) < 0 }

  /// Whether both strings have equal bytes. `==` also accepts canonically equivalent strings.
  @inline(__always)
  package func isSameUTF8(as other: String) -> Bool { hasSameBits(as: other) || hasSameBytes(as: other) }

  @inline(never)
  private func hasSameBytes(as other: String) -> Bool {
    utf8.count == other.utf8.count && comparedInUTF8(to: other) == 0
  }

  /// Whether both strings consist of equal machine words. If they do, the strings are equal. This is often
  /// the case for equal names: a copy shares the storage, and a short string has its text in these words. If
  /// the result is false, the strings may still be equal.
  @inline(__always)
  func hasSameBits(as other: String) -> Bool {
    guard MemoryLayout<String>.size == MemoryLayout<SIMD2<UInt64>>.size else { return false }
    // Both types have equal size, and any bit pattern is a valid pair of integers. The integers are only
    // compared.
    return unsafe unsafeBitCast(self, to: SIMD2<UInt64>.self) == unsafeBitCast(other, to: SIMD2<UInt64>.self)
  }

  /// Negative, zero or positive if this sorts before, equals, or sorts after `other`.
  package func comparedInUTF8(to other: String) -> Int {
    // Strings are stored as UTF-8, except strings bridged from Apple's Foundation.
    let fast = unsafe utf8.withContiguousStorageIfAvailable { left in
      unsafe other.utf8.withContiguousStorageIfAvailable { right in unsafe Self.compare(left, right) }
    }
    if let fast, let result = fast { return result }
    if utf8.elementsEqual(other.utf8) { return 0 }
    return utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
  }

  /// The first byte; nil if the string is empty.
  var firstInUTF8: UInt8? {
    let fast = unsafe utf8.withContiguousStorageIfAvailable { bytes in unsafe bytes.isEmpty ? nil : bytes[0] }
    return fast ?? utf8.first
  }

  /// Whether any byte equals `byte`.
  func containsInUTF8(_ byte: UInt8) -> Bool {
    let fast = unsafe utf8.withContiguousStorageIfAvailable { bytes in unsafe bytes.contains(byte) }
    return fast ?? utf8.contains(byte)
  }

  /// The segments between slashes, including empty ones. The text is split by bytes, because a slash with a
  /// combining mark is one character, and not a slash.
  package var pathSegments: [String] {
    utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { String(Substring($0)) }
  }

  private static func compare(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
  ) -> Int {
    let shared = Swift.min(left.count, right.count)
    guard shared > 0, let leftBytes = left.baseAddress, let rightBytes = right.baseAddress else {
      return left.count - right.count
    }
    let order = unsafe memcmp(leftBytes, rightBytes, shared)
    return order == 0 ? left.count - right.count : Int(order)
  }
}

extension [String] {
  /// Whether both lists contain strings with equal bytes in the same order.
  package func areSameUTF8(as other: [String]) -> Bool {
    guard count == other.count else { return false }
    // Spans lend the strings, so that no references are counted.
    let (left, right) = (span, other.span)
    for index in left.indices {
      guard left[index].isSameUTF8(as: right[index]) else { return false }
    }
    return true
  }

  /// Returns the strings sorted by UTF-8 bytes, without duplicates.
  package func sortedInUTF8() -> [String] {
    var sorted: [String] = []
    for name in self.sorted(by: { $0.precedesInUTF8($1) }) where sorted.last?.isSameUTF8(as: name) != true {
      sorted.append(name)
    }
    return sorted
  }

  package func hashUTF8(into hasher: inout Hasher) {
    for name in self {
      for byte in name.utf8 { hasher.combine(byte) }
      hasher.combine(UInt8(0xFF))
    }
  }
}
