// Texts of errors that are meant to differ: which text of ours stands for which text of the emulator.

/// The texts of two errors with the same status.
struct KnownText {
  let ours: String
  let theirs: String
  let step: RESTStep

  /// The kind of the difference; nil if the texts do not stand for each other.
  var kind: KnownDifference? {
    if isPrecondition { return .preconditionText }
    if isUndecodable { return .undecodable }
    if isFieldName { return .fieldNameText }
    if theirs == "The requested 'read_time' is too old.", ours == Self.readTimeText { return .readTimeText }
    return nil
  }

  static let readTimeText = "The requested 'read_time' is too old: its documents are not kept any more."

  // MARK: Preconditions

  /// Whether both are about the same document and the same condition. The emulator has three forms of names.
  private var isPrecondition: Bool {
    if let path = Self.entityPath(theirs) {
      return ["update", "delete", "verify"].contains {
        ours == "No document to \($0): \(step.database)/\(path)"
      }
    }
    let exists = "entity already exists: EntityRef{"
    if theirs.hasPrefix(exists), let start = theirs.firstRange(of: "path=/")?.upperBound {
      return ours == "Document already exists: \(step.database)/\(theirs[start...].dropLast())"
    }
    guard theirs.hasPrefix("the stored version ("), let required = Self.numbers(theirs).last else {
      return false
    }
    // Stored versions are times of the peers. The required one is that of the request.
    return Self.numbers(ours).last == required && ours.withoutNumbers == theirs.withoutNumbers
  }

  /// The path in the text of a key: `path <\n  Element {\n    type: "k"\n    name: "a"\n  }\n>`.
  private static func entityPath(_ text: String) -> String? {
    guard text.hasPrefix("no entity to update: ") else { return nil }
    let names = text.split(separator: "\n").compactMap { line -> String? in
      let line = line.drop { $0 == " " }
      guard line.hasPrefix("type: \"") || line.hasPrefix("name: \"") else { return nil }
      return unescaped(line.dropFirst(7).dropLast())
    }
    return names.joined(separator: "/")
  }

  /// Replaces octal escapes, which are of characters below 256 or of bytes of UTF-8, such as `\351`.
  private static func unescaped(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let first = rest.popFirst() {
      let digits = rest.prefix(3)
      if first == UInt8(ascii: "\\"), let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 8) {
        bytes.append(byte)
        rest = rest.dropFirst(3)
      } else {
        bytes.append(first)
      }
    }
    return String(validating: bytes, as: UTF8.self)
      ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  private static func numbers(_ text: String) -> [Substring] { text.split { !$0.isASCII || !$0.isNumber } }

  // MARK: Messages that cannot be decoded

  static let undecodableText = "Payload isn't valid for request."

  static let decodingTexts = [
    "The field ", "The body is not a JSON object.", "The message is not valid JSON: ",
    "Cannot convert firestore.v1.Value with type unset.",
  ]

  private var isUndecodable: Bool {
    theirs == Self.undecodableText && Self.decodingTexts.contains { ours.hasPrefix($0) }
  }

  // MARK: Names of fields

  /// Whether both refuse the same name. The emulator reports a name in a nested map as a property that
  /// contains it, or with other marks.
  private var isFieldName: Bool {
    guard Self.isOfFieldName(ours) else { return false }
    if Self.words(ours) == Self.words(theirs) { return true }
    let nested = " contains an invalid nested entity."
    guard theirs.hasPrefix("Property "), theirs.hasSuffix(nested) else { return false }
    return step.body.contains("\"\(theirs.dropFirst(9).dropLast(nested.count))\":{")
  }

  /// Whether a text of ours is about the name of a field in a document.
  static func isOfFieldName(_ text: String) -> Bool {
    text == "The property.name is the empty string."
      || text.hasPrefix("field name ") && text.hasSuffix(" is reserved.")
  }

  private static func words(_ text: String) -> String { String(text.filter { !"'.\"".contains($0) }) }

  // MARK: Errors that one side has

  /// Whether only the emulator has this text.
  static func isTheirs(_ text: String) -> Bool {
    let prefixes = [
      "no entity to update: ", "entity already exists: ", "the stored version ", "Cannot collapse mutations ",
      "The requested 'read_time' is too old.", "Firestore does not support descending key scans",
      "This query requires an index ", "Equality on key is not allowed ", "The aggregation property ",
      "Cannot apply property masks when aggregation fields are present.",
      "Aggregation over non-key properties is not supported for base query that only returns keys.",
      "'NOT_IN' cannot be used in the same query with ", "Property ", "field name ",
      "The property.name is the empty string", undecodableText,
    ]
    return prefixes.contains { text.hasPrefix($0) } || text.hasSuffix(" an entity in the same request.")
  }

  /// Whether only our service has this text, or has it where the emulator does not look.
  static func isOurs(_ text: String) -> Bool {
    isOfFieldName(text)
      || [
        readTimeText, "Invalid reserved name in field path __name__",
        "Composite filter must have at least one sub-filter.",
        "The key path element name is longer than 1500 bytes.",
      ].contains(text)
      || [
        "No document to ", "Document already exists: ", "the stored version ",
      ]
      .contains { text.hasPrefix($0) }
      || decodingTexts.contains { text.hasPrefix($0) }
  }
}

extension RESTStep {
  /// The name that all names of documents begin with.
  var database: String {
    let end = path.firstRange(of: "/documents")?.upperBound ?? path.endIndex
    return String(path[..<end])
  }
}
