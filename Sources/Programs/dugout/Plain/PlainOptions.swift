// The options of a plain import. Two runs of an import produce the same documents only if these are equal.

import DocumentStore

struct PlainOptions: Codable, Equatable {
  struct TypedField: Codable, Equatable {
    /// The field as the user wrote it.
    var text: String
    var type: FieldType

    /// The names from the top-level field inward.
    var path: [String] { FieldName.path(of: text) }
  }

  static let into = "--into COLLECTION"
  static let id = "--id FIELD"
  static let keepsID = "--keep-id"
  static let time = "--time FIELD…"
  static let type = "--type FIELD=TYPE…"
  static let format = "--format FORMAT"
  static let separator = "--separator CHARACTER"
  static let dryRun = "--dry-run"

  /// The segments of the collection's path.
  let collection: [String]
  /// The field with the documents' ids as the user wrote it; nil if ids are generated.
  let idField: String?
  /// Whether the field with the id is also a field of the document.
  let keepsIDField: Bool
  let types: [TypedField]
  /// Nil if the file shows its format.
  let format: PlainFormat?
  /// Nil if the file shows its separator.
  let separator: UInt8?

  /// Returns nil if the import is not plain.
  init?(_ arguments: Arguments) throws {
    guard let into = arguments.value(of: Self.name(Self.into)) else {
      let others = [Self.id, Self.keepsID, Self.time, Self.type, Self.format, Self.separator, Self.dryRun]
      guard let other = others.map(Self.name).first(where: arguments.has) else { return nil }
      throw CommandFailure(
        code: .usage,
        message: "\(other) is about plain data and needs --into COLLECTION: the collection of the documents.")
    }
    collection = try Self.collection(into)
    idField = arguments.value(of: Self.name(Self.id))
    keepsIDField = arguments.has(Self.keepsID)
    types = try Self.types(arguments)
    let (format, usualSeparator) = try Self.format(arguments)
    let separator = try Self.separator(arguments)
    self.format = format ?? (separator == nil ? nil : .csv)
    self.separator = separator ?? usualSeparator
    guard idField != nil || !keepsIDField else {
      throw CommandFailure(code: .usage, message: "--keep-id needs --id FIELD, the field to keep.")
    }
  }

  /// The path of the field with the documents' ids.
  var idPath: [String]? { idField.map(FieldName.path) }

  private static func name(_ option: String) -> String { String(option.prefix { $0 != " " }) }

  private static func collection(_ text: String) throws -> [String] {
    let segments = try PathArgument.segments(text)
    do { return try CollectionPath(segments).segments } catch {
      throw CommandFailure(
        code: .usage, message: "\(error) --into needs a collection, such as people or rooms/eros/messages.")
    }
  }

  private static func types(_ arguments: Arguments) throws -> [TypedField] {
    var types = arguments.values(of: name(time)).map { TypedField(text: $0, type: .timestamp) }
    for text in arguments.values(of: name(type)) {
      guard let sign = text.lastIndex(of: "="), sign != text.startIndex else {
        throw CommandFailure(
          code: .usage,
          message: "--type needs a field and a type, such as --type zip=string, not \"\(text)\".")
      }
      let word = text[text.index(after: sign)...].lowercased()
      guard let type = FieldType(rawValue: word) else {
        throw CommandFailure(
          code: .usage, message: "there is no type \"\(word)\". The types are \(FieldType.names).")
      }
      types.append(TypedField(text: String(text[..<sign]), type: type))
    }
    for (place, field) in types.enumerated() {
      guard !types[..<place].contains(where: { $0.path.areSameUTF8(as: field.path) }) else {
        throw CommandFailure(code: .usage, message: "The field \(field.text) has two types. Give it one.")
      }
    }
    return types
  }

  private static func format(_ arguments: Arguments) throws -> (format: PlainFormat?, separator: UInt8?) {
    guard let word = arguments.value(of: name(format)) else { return (nil, nil) }
    switch word.lowercased() {
    case "csv": return (.csv, nil)
    case "tsv": return (.csv, UInt8(ascii: "\t"))
    case "json", "jsonl", "ndjson": return (.json, nil)
    default:
      throw CommandFailure(
        code: .usage, message: "there is no format \"\(word)\". The formats are json, jsonl, csv and tsv.")
    }
  }

  private static func separator(_ arguments: Arguments) throws -> UInt8? {
    guard let word = arguments.value(of: name(separator)) else { return nil }
    switch word {
    case "tab", "\\t": return UInt8(ascii: "\t")
    case _ where word.utf8.count == 1 && word != "\"" && word != "\n" && word != "\r": return word.utf8.first
    default:
      throw CommandFailure(
        code: .usage,
        message: "--separator needs one character, such as ';', or the word tab, not \"\(word)\".")
    }
  }
}
