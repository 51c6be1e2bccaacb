// Fields among the options of a command, and numbers that are added to them.

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
        "\(option) needs a field, such as age or address.city; a name with other letters stands between "
        + "backticks. " + why)
  }

  /// `FIELD=N`. A name between backticks may have the sign, and a number has none.
  static func increment(_ text: String, of option: String) throws -> FieldTransform {
    guard let sign = text.lastIndex(of: "="), let number = number(text[text.index(after: sign)...]) else {
      throw CommandFailure(
        code: .usage,
        message: "\(option) needs a field and a number of 64 bits, such as \(option) age=1 or \(option) "
          + "balance=-2.5, not \"\(text)\".")
    }
    return FieldTransform(try field(String(text[..<sign]), of: option), .increment(number))
  }

  /// What is endless or NaN would leave nothing of the number that is there.
  private static func number(_ text: Substring) -> StoredNumber? {
    guard let value = try? QueryText.value(String(text)), let number = StoredNumber(value) else { return nil }
    if case .double(let double) = number, !double.isFinite { return nil }
    return number
  }
}

extension Arguments {
  /// Of an option that takes a field; none without it.
  func fields(of option: String) throws -> [StoredFieldPath] {
    try values(of: option).map { try FieldArgument.field($0, of: option) }
  }

  /// Of an option that takes a field and a number.
  func increments(of option: String) throws -> [FieldTransform] {
    try values(of: option).map { try FieldArgument.increment($0, of: option) }
  }
}
