// Reads the indexed fields of several documents. These documents mostly have similar fields, so a field is
// first looked up at its position in the previous document.

struct IndexedFields {
  let definition: IndexDefinition
  /// For each field of the index, its name if the field is at the top level.
  private let names: [String?]
  /// The position of each field in the previous document.
  private var found: [Int]

  init(_ definition: IndexDefinition) {
    self.definition = definition
    names = definition.fields.map(\.path).map { $0.names.count == 1 && $0 != .documentID ? $0.names[0] : nil }
    found = Array(repeating: 0, count: names.count)
  }

  /// Appends the single key of a document, if it has one, and returns the kinds of the document's numbers. If
  /// the index contains array elements, nothing is appended, because a document can have several keys.
  mutating func appendKey(of document: StoredDocument, to key: inout [UInt8]) -> NumberBits {
    let start = key.count
    definition.appendKey(of: document.path, to: &key) { value(ofField: $0, in: document) }
    return key.count > start ? definition.numbers { value(ofField: $0, in: document) } : NumberBits()
  }

  /// Returns the keys of a document and, if there are any keys, the kinds of the document's numbers.
  mutating func entries(of document: StoredDocument) -> (keys: [[UInt8]], numbers: NumberBits) {
    var values: [StoredValue?] = []
    values.reserveCapacity(found.count)
    for place in found.indices { values.append(value(ofField: place, in: document)) }
    let keys = StoredKey.of(definition.keys(of: document.path) { values[$0] })
    return (keys, keys.isEmpty ? NumberBits() : definition.numbers { values[$0] })
  }

  /// Returns whether two states of a document are equal in all fields of the index. If they are, their keys
  /// are equal, too.
  mutating func areSame(in left: StoredDocument, _ right: StoredDocument) -> Bool {
    for place in found.indices
    where value(ofField: place, in: left) != value(ofField: place, in: right) {
      return false
    }
    return true
  }

  private mutating func value(ofField place: Int, in document: StoredDocument) -> StoredValue? {
    guard let name = names[place] else { return document.value(of: definition.fields[place].path) }
    return document.fields.value(of: name, near: &found[place])
  }
}
