// The status text of gRPC as a client decodes it.

/// Decodes percent-encoding.
package enum StatusTextModel {
  /// The decoded text; nil if it has another form, or is no UTF-8.
  package static func decoded(_ encoded: String) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(encoded.utf8)[...]
    guard rest.first != 0x20, rest.last != 0x20 else { return nil }
    while let byte = rest.popFirst() {
      guard byte >= 0x20, byte <= 0x7E else { return nil }
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else {
        return nil
      }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
