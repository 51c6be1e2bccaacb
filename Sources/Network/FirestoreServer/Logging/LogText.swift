// Text from outside, as it can stand in a line of a log.

internal import FirestoreWire

enum LogText {
  static let bytesMax = 300

  /// The text without characters that end lines, move the cursor or change the direction of writing. They
  /// are written by their numbers. A long text is cut.
  static func escaped(_ text: String, bytesMax: Int = bytesMax) -> String {
    let text = shortened(text, bytesMax: bytesMax)
    guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
    var escaped = ""
    for scalar in text.unicodeScalars {
      if isUnsafe(scalar) {
        escaped += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
      return true
    default: return false
    }
  }
}
