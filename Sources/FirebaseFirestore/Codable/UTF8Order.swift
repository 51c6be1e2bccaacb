// Comparing field names, fast: what lookups in a document's fields spend their time on.

private import Foundation

enum UTF8Order {
  /// Whether two names are the same bytes. `==` would also accept another normalisation.
  static func isSame(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count && compare(left, right) == 0
  }

  /// Whether `left` comes first in the order of unsigned bytes.
  static func precedes(_ left: String, _ right: String) -> Bool { compare(left, right) < 0 }

  /// Negative, zero or positive, as `left` comes before, is, or comes after `right`.
  static func compare(_ left: String, _ right: String) -> Int {
    // Strings lie in memory as UTF-8, except for those that Apple's Foundation lends out as UTF-16.
    let fast = unsafe left.utf8.withContiguousStorageIfAvailable { left in
      unsafe right.utf8.withContiguousStorageIfAvailable { right in unsafe compare(left, right) }
    }
    if let fast, let result = fast { return result }
    if left.utf8.elementsEqual(right.utf8) { return 0 }
    return left.utf8.lexicographicallyPrecedes(right.utf8) ? -1 : 1
  }

  private static func compare(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
  ) -> Int {
    let shared = min(left.count, right.count)
    guard shared > 0, let leftBytes = left.baseAddress, let rightBytes = right.baseAddress else {
      return left.count - right.count
    }
    let order = unsafe memcmp(leftBytes, rightBytes, shared)
    return order == 0 ? left.count - right.count : Int(order)
  }
}
