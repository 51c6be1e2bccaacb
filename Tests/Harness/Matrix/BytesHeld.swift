// A search for byte sequences in files. The values in specimens are random, so a match is not a coincidence.

import Libc

extension [UInt8] {
  /// Returns whether this array contains the given array, which must not be empty.
  func containsBytes(_ value: [UInt8]) -> Bool {
    withUnsafeBytes { bytes in
      value.withUnsafeBytes { value in
        var start = 0
        while start + value.count <= bytes.count {
          let rest = bytes.baseAddress! + start
          guard let found = memchr(rest, Int32(value[0]), bytes.count - start) else { return false }
          start += rest.distance(to: UnsafeRawPointer(found))
          if start + value.count <= bytes.count,
            memcmp(bytes.baseAddress! + start, value.baseAddress!, value.count) == 0
          {
            return true
          }
          start += 1
        }
        return false
      }
    }
  }
}
