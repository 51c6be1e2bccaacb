// Parses the list of fields of an option: names between commas, with backticks as in queries.

import DocumentStore

enum FieldList {
  static func fields(_ text: String, of option: String) throws -> [StoredFieldPath] {
    let fields = try parts(text).map { try FieldArgument.field($0.withoutOuterBlanks, of: option) }
    for (place, field) in fields.enumerated() {
      guard !fields[..<place].contains(where: { $0.isPrefix(of: field) || field.isPrefix(of: $0) }) else {
        throw CommandFailure(
          code: .usage,
          message: "\(option) names the field \(field) twice, or a field and the map that contains it.")
      }
    }
    return fields
  }

  private static func parts(_ text: String) -> [String] {
    var parts = [""]
    var (isQuoted, isEscaped) = (false, false)
    for scalar in text.unicodeScalars {
      if scalar == ",", !isQuoted {
        parts.append("")
        continue
      }
      if scalar == "`", !isEscaped { isQuoted.toggle() }
      isEscaped = scalar == "\\" && isQuoted && !isEscaped
      parts[parts.count - 1].unicodeScalars.append(scalar)
    }
    return parts
  }
}
