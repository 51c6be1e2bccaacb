// Names by their bytes: neither the order nor the equality of Swift's strings, and faster.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension String {
  /// Whether this comes before `other` in the order of unsigned UTF-8 bytes.
  package func precedesInUTF8(_ other: String) -> Bool { comparedInUTF8(to: other) < 0 }

  /// Whether both are the same bytes. `==` would also accept another normalisation.
  @inline(__always)
  package func isSameUTF8(as other: String) -> Bool { hasSameBits(as: other) || hasSameBytes(as: other) }

  @inline(never)
  private func hasSameBytes(as other: String) -> Bool {
    utf8.count == other.utf8.count && comparedInUTF8(to: other) == 0
  }

  /// Of the second word of a string, where strings are two words: set if the text lies in these.
  private static let isShort: UInt64 = 1 << 61

  /// Whether both are the same words in memory. Short strings lie in them, and of long ones, copies share what they
  /// refer to: so are most names that are the same at all.
  @inline(__always)
  func hasSameBits(as other: String) -> Bool {
    guard MemoryLayout<String>.size == MemoryLayout<SIMD2<UInt64>>.size else { return false }
    // Both are as large, and whatever is in them is two numbers; nothing is made of these but a comparison.
    return unsafe unsafeBitCast(self, to: SIMD2<UInt64>.self) == unsafeBitCast(other, to: SIMD2<UInt64>.self)
  }

  /// The text and its length, as far as it lies in the two words that a string is; nil if it lies elsewhere. The same text
  /// has the same words.
  @inline(__always)
  var wordsIfShort: SIMD2<UInt64>? {
    #if (arch(x86_64) || arch(arm64)) && !os(Android)
    guard MemoryLayout<String>.size == MemoryLayout<SIMD2<UInt64>>.size else { return nil }
    // Safe, because both are as large, and whatever is in them is two numbers. That the bit says where the text lies is so
    // on these machines: Apple's binaries rely on it, Linux has the same, and a test compares texts that lie here and there.
    let words = unsafe unsafeBitCast(self, to: SIMD2<UInt64>.self)
    return words.y & Self.isShort != 0 ? words : nil
    #else
    return nil
    #endif
  }

  /// Negative, zero or positive, as this comes before, is, or comes after `other`.
  package func comparedInUTF8(to other: String) -> Int {
    // Strings lie in memory as UTF-8, except for those that Apple's Foundation lends out as UTF-16.
    let fast = unsafe utf8.withContiguousStorageIfAvailable { left in
      unsafe other.utf8.withContiguousStorageIfAvailable { right in unsafe Self.compare(left, right) }
    }
    if let fast, let result = fast { return result }
    if utf8.elementsEqual(other.utf8) { return 0 }
    return utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
  }

  /// The first byte; nil if there is none.
  var firstInUTF8: UInt8? {
    let fast = unsafe utf8.withContiguousStorageIfAvailable { bytes in unsafe bytes.isEmpty ? nil : bytes[0] }
    return fast ?? utf8.first
  }

  /// Whether one of the bytes is `byte`.
  func containsInUTF8(_ byte: UInt8) -> Bool {
    let fast = unsafe utf8.withContiguousStorageIfAvailable { bytes in unsafe bytes.contains(byte) }
    return fast ?? utf8.contains(byte)
  }

  /// The parts between slashes, empty ones too. By bytes: a slash and a combining mark after it are one
  /// character, which is no slash.
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
  /// Whether both are the same names, byte by byte.
  package func areSameUTF8(as other: [String]) -> Bool {
    elementsEqual(other) { $0.isSameUTF8(as: $1) }
  }

  /// In the order of their bytes, each once.
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
