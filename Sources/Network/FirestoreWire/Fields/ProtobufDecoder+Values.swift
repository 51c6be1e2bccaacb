// Repeated fields, and values of documents.
//
// Entries of a map may be among other fields, and the message that has the map may occur again. Entries that
// are merged with later ones count as elements once more. This bounds the work for a message that merges
// again and again.

package import DocumentStore

extension ProtobufDecoder {
  // MARK: Repeated fields

  package mutating func strings(_ number: Int32, _ name: String, in values: inout [String]) throws(WireError)
  {
    while isNext(number, .length) {
      try reader.count()
      values.append(try reader.string())
      try advance()
    }
  }

  /// Accepts packed numbers and single ones, in any mixture.
  package mutating func int32s(_ number: Int32, _ name: String, in values: inout [Int32]) throws(WireError) {
    while true {
      if isNext(number, .varint) {
        try reader.count()
        values.append(Int32(truncatingIfNeeded: try reader.varint()))
      } else if isNext(number, .length) {
        let outer = try reader.enter()
        while !reader.isAtEnd {
          try reader.count()
          values.append(Int32(truncatingIfNeeded: try reader.varint()))
        }
        reader.leave(to: outer)
      } else {
        return
      }
      try advance()
    }
  }

  package mutating func labels(
    _ number: Int32, _ name: String, in labels: inout Wire.Labels
  ) throws(WireError) {
    var entries: [Wire.Labels.Entry] = []
    try messages(number, name, in: &entries)
    if entries.isEmpty { return }
    if !labels.isEmpty { try countMerge(with: labels.entries.count) }
    let all = labels.entries + entries
    guard all.count <= WireLimits.labelsMax else { throw .tooManyElements }
    labels = Wire.Labels(all)
  }

  /// Takes the entries that are merged, and the constant cost of a merge, from the number of elements.
  private mutating func countMerge(with entries: Int) throws(WireError) { try reader.count(entries + 32) }

  // MARK: Values

  package mutating func value(
    _ number: Int32, _ name: String, in value: inout StoredValue?
  ) throws(WireError) {
    while isNext(number, .length) {
      value = try ValueReader.read(&reader, noting: &pipelineValues)
      try advance()
    }
  }

  package mutating func values(
    _ number: Int32, _ name: String, in values: inout [StoredValue]
  ) throws(WireError) {
    while isNext(number, .length) {
      try reader.count()
      values.append(try ValueReader.read(&reader, noting: &pipelineValues))
      try advance()
    }
  }

  package mutating func fields(
    _ number: Int32, _ name: String, in fields: inout StoredMap
  ) throws(WireError) {
    while isNext(number, .length) {
      let new = try DocumentFieldsReader.read(
        &reader, entries: ProtobufTag(number, .length), noting: &pipelineValues)
      if fields.isEmpty {
        fields = new
      } else {
        try countMerge(with: fields.count)
        fields = StoredMap(fields.entries + new.entries)
      }
      try advance()
    }
  }

  package mutating func notes(of pipelineValues: inout [PipelineValue]) throws(WireError) {
    guard let first = self.pipelineValues.first else { return }
    pipelineValues += self.pipelineValues
    self.pipelineValues = []
    guard pipelineValues.count <= PipelineValue.countMax else { throw PipelineValue.refused(first.type) }
  }
}
