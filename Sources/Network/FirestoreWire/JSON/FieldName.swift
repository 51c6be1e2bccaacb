// Names of fields in JSON.

/// The two names that a field has in JSON: `update_mask` and `updateMask`.
package enum FieldName {
  /// Appends the name in lower camel case.
  static func appendCamelCase(_ name: String, to bytes: inout [UInt8]) {
    var isUpper = false
    for byte in name.utf8 {
      if byte == UInt8(ascii: "_") {
        isUpper = true
      } else {
        bytes.append(isUpper ? uppercase(byte) : byte)
        isUpper = false
      }
    }
  }

  /// Whether a key of JSON is one of the names of a field.
  package static func matches(_ key: String, _ name: String) -> Bool {
    // Most fields of a message are not the one of the key, and differ in the first character.
    guard key.utf8.first == name.utf8.first else { return false }
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
