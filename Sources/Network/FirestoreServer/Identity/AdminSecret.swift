// The secret of the admin.

/// A secret that is compared in a time that does not depend on its content.
struct AdminSecret: Sendable {
  private let bytes: [UInt8]

  /// Creates a secret, which is not empty.
  init(_ text: String) {
    precondition(!text.isEmpty, "an admin secret is not empty")
    bytes = Array(text.utf8)
  }

  /// Whether a text is the secret. The time depends on the length of the text only.
  func isEqual(to text: some Collection<UInt8>) -> Bool {
    var difference = UInt(bitPattern: text.count ^ bytes.count)
    var place = 0
    for byte in text {
      difference |= UInt(byte ^ bytes[place])
      place += 1
      if place == bytes.count { place = 0 }
    }
    return difference == 0
  }
}
