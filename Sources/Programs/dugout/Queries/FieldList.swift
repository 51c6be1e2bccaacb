// The fields that a command shows, chosen with `--fields`.

import DocumentStore

struct FieldList {
  static let option = "--fields"

  /// In the order of the command line, each once. `__name__` stands for the name of the document.
  let paths: [StoredFieldPath]

  /// Returns nil if the option is absent.
  init?(_ arguments: Arguments) throws {
    let texts = arguments.values(of: Self.option)
    guard !texts.isEmpty else { return nil }
    var seen = Set<StoredFieldPath>()
    var paths: [StoredFieldPath] = []
    for text in texts {
      guard text.contains(where: { !$0.isWhitespace }) else {
        throw CommandFailure(
          code: .usage,
          message: "\(Self.option) needs fields with commas between them, such as name,address.city.")
      }
      paths += try QueryText.fields(text).filter { seen.insert($0).inserted }
    }
    self.paths = paths
  }

  /// The fields without the name of the document.
  var stored: [StoredFieldPath] { paths.filter { $0 != .documentID } }

  /// The document with these fields only.
  func projected(_ document: StoredDocument) -> StoredDocument {
    StoredDocument(
      path: document.path, createTime: document.createTime, updateTime: document.updateTime,
      fields: StoredMap().replacing(FieldMask(stored).paths, from: document.fields))
  }

  /// Returns a sentence about the fields that none of the documents has; nil if there are none.
  func remark(about documents: [StoredDocument]) -> String? {
    guard !documents.isEmpty else { return nil }
    let absent = stored.filter { field in !documents.contains { $0.value(of: field) != nil } }
    return Self.remark(absent, in: documents)
  }

  /// Returns a sentence about fields that no document has. `documents` provides the names for a guess.
  static func remark(_ absent: [StoredFieldPath], in documents: [StoredDocument]) -> String? {
    guard let first = absent.first else { return nil }
    let names = absent.map { ShownText.escaped($0.canonical) }.joined(separator: ", ")
    let noun = absent.count == 1 ? "the field \(names)" : "the fields \(names)"
    let subject = documents.count == 1 ? "the document does not have" : "no document here has"
    let guess = FieldGuess.near(first, in: documents).map { ". Did you mean \(ShownText.escaped($0))?" } ?? ""
    return "\(subject) \(noun)\(guess)"
  }
}
