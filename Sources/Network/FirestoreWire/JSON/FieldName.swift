// Names of fields in JSON.

/// The two names that a field has in JSON: `update_mask` and `updateMask`.
package enum FieldName {
  /// The name in lower camel case, as UTF-8.
  package static func camelCase(_ name: String) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(name.utf8.count)
    var isUpper = false
    for byte in name.utf8 {
      if byte == UInt8(ascii: "_") {
        isUpper = true
      } else {
        result.append(isUpper ? uppercase(byte) : byte)
        isUpper = false
      }
    }
    return result
  }

  /// Whether a key of JSON is one of the names of a field.
  package static func matches(_ key: String, _ name: String) -> Bool {
    var rest = key.utf8[...]
    var isUpper = false
    for byte in name.utf8 {
      if byte == UInt8(ascii: "_") {
        isUpper = true
        continue
      }
      guard rest.popFirst() == (isUpper ? uppercase(byte) : byte) else {
        return key.utf8.elementsEqual(name.utf8)
      }
      isUpper = false
    }
    return rest.isEmpty
  }

  private static func uppercase(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte - 32 : byte
  }
}
