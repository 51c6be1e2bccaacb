// Quotes words for a POSIX shell, for commands that users copy.

enum ShellWord {
  /// Adds single quotes unless the word has only letters, digits and `_./-`.
  static func quoted(_ text: String) -> String {
    guard text.isEmpty || !text.utf8.allSatisfy(isPlain) else { return text }
    return alwaysQuoted(text)
  }

  static func alwaysQuoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "/"),
      UInt8(ascii: "-"):
      true
    default: false
    }
  }
}
