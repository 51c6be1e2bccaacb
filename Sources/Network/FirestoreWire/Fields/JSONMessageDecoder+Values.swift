// Repeated fields, and values of documents.

package import DocumentStore

extension JSONMessageDecoder {
  // MARK: Repeated fields

  package mutating func strings(_ number: Int32, _ name: String, in values: inout [String]) throws(WireError)
  {
    guard try isNext(number, name) else { return }
    var hasElement = try reader.beginArray()
    while hasElement {
      try reader.count()
      values.append(try reader.string())
      hasElement = try reader.nextElement()
    }
    try advance()
  }

  package mutating func int32s(_ number: Int32, _ name: String, in values: inout [Int32]) throws(WireError) {
    guard try isNext(number, name) else { return }
    var hasElement = try reader.beginArray()
    while hasElement {
      try reader.count()
      values.append(try reader.int32())
      hasElement = try reader.nextElement()
    }
    try advance()
  }

  package mutating func labels(
    _ number: Int32, _ name: String, in labels: inout Wire.Labels
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    labels = try readLabels()
    try advance()
  }

  package mutating func structs(
    _ number: Int32, _ name: String, in values: inout [Wire.Labels]
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    var hasElement = try reader.beginArray()
    while hasElement {
      try reader.count()
      values.append(try readLabels())
      hasElement = try reader.nextElement()
    }
    try advance()
  }

  private mutating func readLabels() throws(WireError) -> Wire.Labels {
    var entries: [Wire.Labels.Entry] = []
    var label = try reader.beginObject()
    while let key = label {
      try reader.count()
      entries.append(Wire.Labels.Entry(key: key, value: try reader.string()))
      label = try reader.nextKey()
    }
    guard entries.count <= WireLimits.labelsMax else { throw .tooManyElements }
    return Wire.Labels(entries)
  }

  // MARK: Values

  package mutating func value(
    _ number: Int32, _ name: String, in value: inout StoredValue?
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try ValueReader.read(&reader, noting: &pipelineValues)
    try advance()
  }

  package mutating func values(
    _ number: Int32, _ name: String, in values: inout [StoredValue]
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    var hasElement = try reader.beginArray()
    while hasElement {
      try reader.count()
      values.append(try ValueReader.read(&reader, noting: &pipelineValues))
      hasElement = try reader.nextElement()
    }
    try advance()
  }

  package mutating func fields(
    _ number: Int32, _ name: String, in fields: inout StoredMap
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    fields = try DocumentFieldsReader.read(&reader, noting: &pipelineValues)
    try advance()
  }

  package mutating func notes(of pipelineValues: inout [PipelineValue]) throws(WireError) {
    guard let first = self.pipelineValues.first else { return }
    pipelineValues += self.pipelineValues
    self.pipelineValues = []
    guard pipelineValues.count <= PipelineValue.countMax else { throw PipelineValue.refused(first.type) }
  }
}
