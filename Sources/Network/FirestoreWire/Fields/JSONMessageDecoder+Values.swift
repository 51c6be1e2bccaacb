// Repeated fields, and values of documents.

import DocumentStore

extension JSONMessageDecoder {
  // MARK: Repeated fields

  mutating func strings(_ number: Int32, _ name: String, in values: inout [String]) throws(WireError) {
    guard try isNext(number, name) else { return }
    var hasElement = try reader.beginArray()
    while hasElement {
      try reader.count()
      values.append(try reader.string())
      hasElement = try reader.nextElement()
    }
    try advance()
  }

  mutating func int32s(_ number: Int32, _ name: String, in values: inout [Int32]) throws(WireError) {
    guard try isNext(number, name) else { return }
    var hasElement = try reader.beginArray()
    while hasElement {
      try reader.count()
      values.append(try reader.int32())
      hasElement = try reader.nextElement()
    }
    try advance()
  }

  mutating func labels(
    _ number: Int32, _ name: String, in labels: inout Wire.Labels
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    var entries: [Wire.Labels.Entry] = []
    var label = try reader.beginObject()
    while let key = label {
      try reader.count()
      entries.append(Wire.Labels.Entry(key: key, value: try reader.string()))
      label = try reader.nextKey()
    }
    labels = Wire.Labels(entries)
    try advance()
  }

  // MARK: Values

  mutating func value(
    _ number: Int32, _ name: String, in value: inout StoredValue?
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try ValueReader.read(&reader)
    try advance()
  }

  mutating func values(
    _ number: Int32, _ name: String, in values: inout [StoredValue]
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    var hasElement = try reader.beginArray()
    while hasElement {
      try reader.count()
      values.append(try ValueReader.read(&reader))
      hasElement = try reader.nextElement()
    }
    try advance()
  }

  mutating func fields(
    _ number: Int32, _ name: String, in fields: inout StoredMap
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    fields = try DocumentFieldsReader.read(&reader)
    try advance()
  }
}
