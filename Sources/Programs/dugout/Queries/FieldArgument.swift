// Parses fields and increments in command options.

import DocumentStore

enum FieldArgument {
  static func field(_ text: String, of option: String) throws -> StoredFieldPath {
    if !text.contains("`"), text.contains(where: \.isWhitespace) {
      throw noField("There are blanks in \"\(text)\".", of: option)
    }
    do { return try QueryText.field(text) } catch { throw noField(StoreAccess.ended("\(error)"), of: option) }
  }

  private static func noField(_ why: String, of option: String) -> CommandFailure {
    CommandFailure(
      code: .usage,
      message:
        "\(option) needs a field, such as age or address.city; a name with other characters needs "
        + "backticks. " + why)
  }

  /// Parses `FIELD=N`. A quoted name may contain an equals sign, and a number cannot.
  static func increment(_ text: String, of option: String) throws -> FieldTransform {
    guard let sign = text.lastIndex(of: "="), let number = number(text[text.index(after: sign)...]) else {
      throw CommandFailure(
        code: .usage,
        message: "\(option) needs a field and a number of 64 bits, such as \(option) age=1 or \(option) "
          + "balance=-2.5, not \"\(text)\".")
    }
    return FieldTransform(try field(String(text[..<sign]), of: option), .increment(number))
  }

  /// Refuses infinities and NaN, because adding them destroys the stored number.
  private static func number(_ text: Substring) -> StoredNumber? {
    guard let value = try? QueryText.value(String(text)), let number = StoredNumber(value) else { return nil }
    if case .double(let double) = number, !double.isFinite { return nil }
    return number
  }
}

extension Arguments {
  /// Returns the fields of an option; an empty array if the option is absent.
  func fields(of option: String) throws -> [StoredFieldPath] {
    try values(of: option).map { try FieldArgument.field($0, of: option) }
  }

  /// Returns the increments of an option; an empty array if the option is absent.
  func increments(of option: String) throws -> [FieldTransform] {
    try values(of: option).map { try FieldArgument.increment($0, of: option) }
  }
}
