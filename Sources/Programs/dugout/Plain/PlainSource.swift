// The interface of the sources of a plain import, and the summary that they show.

protocol PlainSource: DocumentSource {
  /// Reads what is needed before the first document: names and types. Returns what the user should see of
  /// them.
  func prepare(_ line: ProgressLine) throws -> PlainSummary
  /// Sentences about all documents that were read, for the end of the import.
  var remarks: [String] { get }
}

extension PlainSource {
  /// The input's name for messages.
  var name: String { files.first ?? "standard input" }
}

/// The names and types of an input.
struct PlainSummary {
  struct Field {
    var name: String
    var type: String
    var remark: String?
  }

  /// The format, such as "CSV with 5 columns".
  var headline: String
  var fields: [Field]

  /// Maps with many keys would fill the screen.
  private static let fieldsShownMax = 200

  var text: String {
    let hidden = fields.count - Self.fieldsShownMax
    let fields = fields.prefix(Self.fieldsShownMax)
    let names = fields.map { ShownText.escaped($0.name).shortened(toColumns: 40) }
    let (nameWidth, typeWidth) = (names.map(\.columns).max() ?? 0, fields.map(\.type.columns).max() ?? 0)
    let rows = zip(names, fields).map { name, field in
      let start = "  " + name.filled(toColumns: nameWidth) + "  "
      guard let remark = field.remark else { return start + field.type }
      return start + field.type.filled(toColumns: typeWidth) + "  " + remark
    }
    let more = hidden > 0 ? ["  and \(Wording.count(hidden, "further field"))"] : []
    return ([headline] + rows + more).joined(separator: "\n")
  }

  var object: JSON {
    .array(
      fields.map { field in
        ["name": field.name, "type": field.type, "remark": field.remark] as JSON
      })
  }
}
