// What an index has of one document after the other: they are mostly alike, so that a field is looked for
// where it was in the document before.

struct IndexedFields {
  let definition: IndexDefinition
  /// For each field of the index, its name if it is an outermost one.
  private let names: [String?]
  /// Where it was among the fields of the last document.
  private var found: [Int]

  init(_ definition: IndexDefinition) {
    self.definition = definition
    names = definition.fields.map(\.path).map { $0.names.count == 1 && $0 != .documentID ? $0.names[0] : nil }
    found = Array(repeating: 0, count: names.count)
  }

  /// Appends the one key of a document, if it has one, and tells what numbers it has then. Of an index with
  /// elements of arrays, there may be more.
  mutating func appendKey(of document: StoredDocument, to key: inout [UInt8]) -> NumberBits {
    let start = key.count
    definition.appendKey(of: document.path, to: &key) { value(ofField: $0, in: document) }
    return key.count > start ? definition.numbers { value(ofField: $0, in: document) } : NumberBits()
  }

  /// The keys of a document, and what numbers it has if it has keys.
  mutating func entries(of document: StoredDocument) -> (keys: [[UInt8]], numbers: NumberBits) {
    var values: [StoredValue?] = []
    values.reserveCapacity(found.count)
    for place in found.indices { values.append(value(ofField: place, in: document)) }
    let keys = StoredKey.of(definition.keys(of: document.path) { values[$0] })
    return (keys, keys.isEmpty ? NumberBits() : definition.numbers { values[$0] })
  }

  /// Whether two states of a document have the same in all fields of the index, and so the same keys.
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
