// The percent-encoding of clients of WebChannel.

/// Texts in queries and forms.
package enum FormText {
  /// Encodes all bytes but letters, digits, some signs, and `others`.
  package static func encoded(_ text: String, except others: String = "") -> String {
    encoded(Array(text.utf8), except: others)
  }

  package static func encoded(_ bytes: [UInt8], except others: String = "") -> String {
    var text = ""
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      case _ where others.utf8.contains(byte): text.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        text += digits.count < 2 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return text
  }
}
