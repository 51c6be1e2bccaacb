// Compares all ways to read one record, whether it is valid or not.
//
//   valid    the validator and the decoder accept it. Views, subscripts and sizes agree with the decoded
//            fields.
//   invalid  the validator and the decoder refuse it. A walk with a cursor and one with closures end at the
//            same value.

internal import DocumentStore

struct RecordComparison {
  /// A document without fields.
  private let empty: StoredDocument
  private let readers: RecordReaders

  init(_ empty: StoredDocument, shapes: [[String]]) {
    self.empty = empty
    readers = RecordReaders(shapes: shapes)
  }

  /// Describes what all readers found. Throws if two of them disagree.
  func answer(_ record: [UInt8]) throws(FuzzFinding) -> String {
    let isValid = readers.isValid(record)
    // The measure must end on invalid bytes, too.
    let size = readers.measured(record)
    let walked = readers.withView(record) { WalkedMap(stepping: $0) }
    let visited = readers.withView(record) { WalkedMap(visiting: $0) }
    try require(walked == visited, "a cursor and closures give different fields")
    let decoded = Result { () throws(RecordError) in try readers.decoded(record) }
    let checked = Result { () throws(RecordError) in try readers.checked(record) }
    switch (decoded, checked) {
    case (.failure(let error), .failure(let other)):
      try require(!isValid, "the validator accepts what the decoder refuses: expected \(error.expected)")
      try require(error == other, "a check finds \(other) instead of \(error)")
      lookUp(walked, in: record)
      let end = walked.isWhole ? "a view shows all of it" : "a view ends early"
      return "refused, expected \(error.expected), \(end)".withoutNumbers
    case (.success(let fields), .success(let encoded)):
      try require(isValid, "the validator refuses what the decoder accepts")
      try require(walked == WalkedMap(fields), "views show other fields than the decoder")
      for path in Self.paths(in: fields) {
        try require(
          value(at: path, in: record) == fields[path].map(WalkedValue.init),
          "a view shows another value at a path")
      }
      return try compare(fields, encoded, size)
    default: throw FuzzFinding("a check and the decoder have different verdicts")
    }
  }

  // MARK: Valid records

  private func compare(_ fields: StoredMap, _ record: StoredMap, _ size: Int?) throws(FuzzFinding) -> String {
    try require(record.count == fields.count, "the record has another number of fields")
    try require(record.names == fields.names, "the record has other names")
    try require(record == fields && fields == record, "the record has other fields")
    try require(record.entries.elementsEqual(fields.entries) { $0 == $1 }, "the record has other entries")
    try compareLookups(of: fields, record)
    return "accepted \(fields.count) fields, \(try compareSizes(fields, record, size))"
  }

  /// Reads every value by its path and by its name, and a field that does not exist.
  private func compareLookups(of fields: StoredMap, _ record: StoredMap) throws(FuzzFinding) {
    for (name, _) in fields.entries {
      try require(record[name] == fields[name], "the record has another value of a name")
      try require(record[name + "!"] == fields[name + "!"], "the record has a field that does not exist")
    }
    for path in Self.paths(in: fields) {
      try require(record[path] == fields[path], "the record has another value at a path")
    }
  }

  private func compareSizes(
    _ fields: StoredMap, _ record: StoredMap, _ size: Int?
  ) throws(FuzzFinding) -> String {
    switch (sizeWithinLimits(fields), sizeWithinLimits(record)) {
    case (.success(let expected), .success(let found)):
      try require(expected == found, "the record has another size")
      // An empty document has the size of all that is not its fields.
      let rest = try? sizeWithinLimits(empty.fields).get()
      try require(size == nil || size == expected - (rest ?? 0), "the measure gives another size")
      return size == nil ? "within limits, not measured" : "within limits"
    case (.failure(let expected), .failure(let found)):
      try require("\(expected)" == "\(found)", "the record exceeds another limit")
      return "beyond limits"
    default: throw FuzzFinding("the record is within other limits than its fields")
    }
  }

  private func sizeWithinLimits(_ fields: StoredMap) -> Result<Int, any Error> {
    Result {
      try DocumentLimits.check(
        StoredDocument(
          path: empty.path, createTime: empty.createTime, updateTime: empty.updateTime, fields: fields))
    }
  }

  // MARK: Lookups

  /// The paths of all values in maps, without those that no path can name.
  private static func paths(in fields: StoredMap, below parent: [String] = []) -> [StoredFieldPath] {
    fields.entries.flatMap { name, value -> [StoredFieldPath] in
      let names = parent + [name]
      let own = [try? StoredFieldPath(names)].compactMap { $0 }
      guard case .map(let inner) = value else { return own }
      return own + paths(in: inner, below: names)
    }
  }

  /// Looks the names up that a walk found in an invalid record. Any result is correct.
  private func lookUp(_ walked: WalkedMap, in record: [UInt8]) {
    for field in walked.fields {
      guard let name = field.text, let path = try? StoredFieldPath([String(decoding: name, as: UTF8.self)])
      else { continue }
      _ = value(at: path, in: record)
    }
  }

  private func value(at path: StoredFieldPath, in record: [UInt8]) -> WalkedValue? {
    readers.withView(record) { $0.withValue(at: path) { WalkedValue($0, steps: true) } }
  }
}

private func require(_ condition: Bool, _ what: @autoclosure () -> String) throws(FuzzFinding) {
  if !condition { throw FuzzFinding(what()) }
}
