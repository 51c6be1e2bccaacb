// Guesses the type of a column from its cells.
//
//   all cells                                     type
//   integers of 64 bits                           integer
//   numbers, NaN and infinities included          double, unless it would round an integer
//   true or false, in any case                    boolean
//   timestamps of RFC 3339                        timestamp
//   JSON arrays or objects                        json
//   anything else, or a mixture                   string
//
// Empty cells do not count. A column without other cells has no type, or is a string if a cell is an empty
// text between quotes.

import DocumentStore

struct ColumnGuess {
  private struct Kinds: OptionSet {
    var rawValue: UInt8

    static let integer = Kinds(rawValue: 1)
    static let largeInteger = Kinds(rawValue: 2)
    static let double = Kinds(rawValue: 4)
    static let boolean = Kinds(rawValue: 8)
    static let timestamp = Kinds(rawValue: 16)
    static let json = Kinds(rawValue: 32)
    static let text = Kinds(rawValue: 64)

    static let numbers: Kinds = [integer, largeInteger, double]
  }

  /// After so many cells of text, the column is text, and its other cells are not examined.
  private static let textsMax = 100
  /// Longer cells are not examined as JSON.
  private static let jsonBytesMax = 1 << 16

  private var kinds: Kinds = []
  /// Whether a cell is an empty text between quotes.
  private var hasEmptyText = false
  private var texts = 0
  private var others = 0
  /// The first cell that is only text, and its line.
  private var firstText: (line: Int, text: String)?

  /// The type of the column; nil if all cells are empty.
  var type: FieldType? {
    if kinds.isEmpty { return hasEmptyText ? .string : nil }
    if kinds.isSubset(of: [.integer, .largeInteger]) { return .integer }
    if kinds.isSubset(of: [.integer, .double]) { return .double }
    switch kinds {
    case .boolean: return .boolean
    case .timestamp: return .timestamp
    case .json: return .json
    default: return .string
    }
  }

  /// Says why the column is text if nearly all of its cells are something else.
  var remark: String? {
    guard let firstText, texts < Self.textsMax, others >= 10 * texts else { return nil }
    let what =
      switch kinds.subtracting(.text) {
      case let kinds where kinds.isSubset(of: .numbers): "numbers"
      case .boolean: "true or false"
      case .timestamp: "timestamps"
      case .json: "JSON"
      default: "of other types"
      }
    let text = ShownText.escaped(firstText.text).shortened(toColumns: 30)
    return "line \(firstText.line) has \"\(text)\", the others are \(what)"
  }

  /// Takes a cell into account. `line` is evaluated only for the first cell of text.
  mutating func see(_ cell: CSVRecord.Cell, in bytes: [UInt8], line: @autoclosure () -> Int) {
    guard texts < Self.textsMax else { return }
    let content = Self.trimmed(bytes[cell.range])
    guard let first = content.first else {
      if cell.isQuoted { hasEmptyText = true }
      return
    }
    let isNested = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    let kind = isNested ? Self.kind(nested: cell, in: bytes) : Self.kind(content, first: first)
    kinds.insert(kind)
    guard kind == .text else { return others += 1 }
    texts += 1
    if firstText == nil { firstText = (line(), CSVScanner.text(of: cell, in: bytes) ?? "") }
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var rest = bytes
    while let first = rest.first, CSVScanner.isBlank(first) { rest.removeFirst() }
    while let last = rest.last, CSVScanner.isBlank(last) { rest.removeLast() }
    return rest
  }

  private static func kind(_ bytes: ArraySlice<UInt8>, first: UInt8) -> Kinds {
    switch first {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
      switch NumberForm.form(of: bytes) {
      case .integer?: return .integer
      case .largeInteger?: return .largeInteger
      case .double?: return .double
      case nil: return isTimestamp(bytes) ? .timestamp : isNoFiniteNumber(bytes) ? .double : .text
      }
    case UInt8(ascii: "N"), UInt8(ascii: "I"): return isNoFiniteNumber(bytes) ? .double : .text
    case UInt8(ascii: "t"), UInt8(ascii: "T"): return isWord(bytes, "true") ? .boolean : .text
    case UInt8(ascii: "f"), UInt8(ascii: "F"): return isWord(bytes, "false") ? .boolean : .text
    default: return .text
    }
  }

  private static func isWord(_ bytes: ArraySlice<UInt8>, _ word: StaticString) -> Bool {
    bytes.count == word.utf8CodeUnitCount && String(decoding: bytes, as: UTF8.self).lowercased() == "\(word)"
  }

  /// Whether the bytes are a number as JavaScript writes it and JSON cannot.
  private static func isNoFiniteNumber(_ bytes: ArraySlice<UInt8>) -> Bool {
    ["NaN", "Infinity", "-Infinity"].contains { bytes.elementsEqual($0.utf8) }
  }

  private static func isTimestamp(_ bytes: ArraySlice<UInt8>) -> Bool {
    (20...35).contains(bytes.count) && TimestampText.parse(String(decoding: bytes, as: UTF8.self)) != nil
  }

  private static func kind(nested cell: CSVRecord.Cell, in bytes: [UInt8]) -> Kinds {
    guard cell.range.count <= jsonBytesMax, let text = CSVScanner.text(of: cell, in: bytes) else {
      return .text
    }
    return FieldType.json.value(of: text) == nil ? .text : .json
  }
}
