// The formats of plain exports: lines of JSON, and CSV with a column for each field.

import DocumentStore

/// Options of both formats.
struct PlainLayout {
  /// The name of the column with the ids.
  let idName: String
  /// Whether that column has the whole paths, because the documents are in several collections.
  let hasPaths: Bool
  /// The fields to write, in order; nil for all.
  let fields: [StoredFieldPath]?

  func id(of document: StoredDocument) -> String { hasPaths ? document.path.description : document.path.id }

  /// Throws if a field would have the same name as the column with the ids.
  func checkName(in document: StoredDocument) throws(DocumentStoreError) {
    if let fields {
      guard !fields.contains(where: { $0.names[0].isSameUTF8(as: idName) }) else {
        throw .invalidArgument(
          "The field \(idName) would have the name of the column with the ids: --id NAME names that column.")
      }
    } else if document.fields[idName] != nil {
      throw .failedPrecondition(
        "\(document.path) has a field \(idName), which is also the name of the column with the ids: --id NAME names "
          + "that column.")
    }
  }

  /// Returns the fields of a document that are written.
  func fields(of document: StoredDocument) -> StoredMap {
    guard let fields else { return document.fields }
    var chosen = StoredMap()
    for field in fields { if let value = document.fields[field] { chosen.set(value, at: field) } }
    return chosen
  }
}

/// An object on each line: `{"id":"ada","age":36}`.
struct PlainLines: LineFormat {
  let layout: PlainLayout

  func line(of document: StoredDocument) throws(DocumentStoreError) -> String {
    try layout.checkName(in: document)
    let fields = layout.fields(of: document)
    // The id comes first, although the fields are in the order of their names.
    let start = "{\(JSON.string(layout.idName)):\(JSON.string(layout.id(of: document)))"
    guard !fields.isEmpty else { return start + "}" }
    return start + "," + PlainJSON.object(of: fields).description.dropFirst()
  }
}

/// CSV whose columns are the ids and the fields. The fields of a map have columns of their own, such as
/// `address.city`, unless the field is something other than a map in some document.
struct PlainColumns: LineFormat {
  let layout: PlainLayout
  private var tree = ColumnTree()
  private var columns: [StoredFieldPath] = []

  init(layout: PlainLayout) { self.layout = layout }

  /// Chosen fields are known without reading the documents.
  var examinesFirst: Bool { layout.fields == nil }

  mutating func examine(_ document: StoredDocument) { tree.see(document.fields) }

  mutating func header() -> String? {
    columns = layout.fields ?? tree.columns
    return CSV.row([layout.idName] + columns.map { FieldName.text(of: $0.names) })
  }

  func line(of document: StoredDocument) throws(DocumentStoreError) -> String {
    try layout.checkName(in: document)
    var line = CSV.quoted(layout.id(of: document))
    for column in columns {
      line += ","
      if let value = document.fields[column] { line += Self.cell(value) }
    }
    return line
  }

  /// An empty string is between quotes, because nothing between two commas is an absent field. Null is
  /// absent, too.
  private static func cell(_ value: StoredValue) -> String {
    switch value {
    case .null: ""
    case .string(""): "\"\""
    case .double(let number): number.json.text ?? number.description
    case .array, .vector, .map: CSV.quoted(PlainJSON.json(of: value).description)
    default: CSV.quoted(CSV.cell(value))
    }
  }
}

/// The fields of all documents, as a tree of names.
private struct ColumnTree {
  /// Whether the field is something other than a map with fields in some document.
  private var isValue = false
  /// Sorted by the names' bytes.
  private var inner: [(name: String, tree: ColumnTree)] = []

  /// Documents of a collection mostly have the same fields in the same order, so each name is expected next
  /// to the previous one.
  mutating func see(_ fields: StoredMap) {
    var place = 0
    for (name, value) in fields.entries {
      if place >= inner.count || !inner[place].name.isSameUTF8(as: name) { place = insert(name) }
      if case .map(let map) = value, !map.isEmpty {
        inner[place].tree.see(map)
      } else {
        inner[place].tree.isValue = true
      }
      place += 1
    }
  }

  private mutating func insert(_ name: String) -> Int {
    let place = inner.firstIndex { !$0.name.precedesInUTF8(name) } ?? inner.count
    if place == inner.count || !inner[place].name.isSameUTF8(as: name) {
      inner.insert((name, ColumnTree()), at: place)
    }
    return place
  }

  var columns: [StoredFieldPath] { paths.map { StoredFieldPath(unchecked: $0) } }

  private var paths: [[String]] {
    inner.flatMap { name, tree in tree.isValue ? [[name]] : tree.paths.map { [name] + $0 } }
  }
}
