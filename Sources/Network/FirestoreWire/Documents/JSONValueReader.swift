// Reads values from JSON as trees: operands and cursors, and documents in an unusual form.

import ByteStore
import DocumentStore

struct JSONValueReader {
  /// No name of a type has more bytes.
  static let typeBytesMax = 32

  private var budget: ValueBudget
  private(set) var notes = PipelineNotes()

  init(_ rules: ValueRules) { budget = ValueBudget(rules) }

  // MARK: Maps

  /// Reads an object with the fields of a document.
  mutating func fields(_ reader: inout JSONReader) throws(WireError) -> StoredMap {
    StoredMap(try entries(&reader, depth: 0))
  }

  /// The entries in order of appearance. `depth` is the number of maps and arrays around the values.
  private mutating func entries(_ reader: inout JSONReader, depth: Int) throws(WireError) -> [StoredMap.Entry]
  {
    var entries: [StoredMap.Entry] = []
    var key = try reader.beginObject()
    while let name = key {
      try reader.count()
      if depth == 0 {
        budget.begin(property: name)
        try budget.check(name: name)
      }
      try budget.add(bytes: name.utf8.count + 1)
      notes.begin(field: name)
      entries.append((name, try value(&reader, isElement: false, depth: depth)))
      notes.endField()
      key = try reader.nextKey()
    }
    return entries
  }

  // MARK: Values

  /// Reads a value, which is an object with one key: the type of its content.
  mutating func value(
    _ reader: inout JSONReader, isElement: Bool, depth: Int
  ) throws(WireError) -> StoredValue {
    var value: StoredValue?
    var key = try reader.beginObject()
    while let name = key {
      if let content = try content(&reader, name, isElement: isElement, depth: depth) {
        guard value == nil else { throw reader.problem("a value has more than one type") }
        value = content
      }
      key = try reader.nextKey()
    }
    guard let value else { throw .unsetValue }
    return value
  }

  /// Reads the content of a type; nil if the type is not known, or the content is absent.
  private mutating func content(
    _ reader: inout JSONReader, _ type: String, isElement: Bool, depth: Int
  ) throws(WireError) -> StoredValue? {
    // Strings are compared in their normal form, which costs much for long ones.
    guard type.utf8.count <= Self.typeBytesMax else {
      try reader.skip()
      return nil
    }
    if type == "nullValue" || type == "null_value" {
      try Self.null(&reader)
      try budget.add(scalar: .null)
      return .null
    }
    if try reader.skipsNull() { return nil }
    switch type {
    case "booleanValue", "boolean_value": return try scalar(.boolean(try reader.boolean()))
    case "integerValue", "integer_value": return try scalar(.integer(try reader.int64()))
    case "doubleValue", "double_value": return try scalar(.double(try reader.double()))
    case "timestampValue", "timestamp_value": return try scalar(.timestamp(try Self.timestamp(&reader)))
    case "stringValue", "string_value":
      let text = try reader.string()
      try budget.add(bytes: text.utf8.count + 1)
      return .string(text)
    case "bytesValue", "bytes_value":
      let bytes = try Self.bytes(&reader)
      try budget.add(bytes: bytes.count)
      return .bytes(bytes)
    case "referenceValue", "reference_value":
      let name = try reader.string()
      try budget.add(bytes: name.utf8.count)
      return .reference(StoredReference(try ResourceName(name, as: .reference)))
    case "geoPointValue", "geo_point_value":
      try budget.add(bytes: 16)
      return .geoPoint(try Self.geoPoint(&reader))
    case "mapValue", "map_value": return try map(&reader, isElement: isElement, depth: depth)
    case "arrayValue", "array_value": return try array(&reader, isElement: isElement, depth: depth)
    case "fieldReferenceValue", "field_reference_value": return try note("FIELD_REFERENCE_VALUE", &reader)
    case "functionValue", "function_value": return try note("FUNCTION_VALUE", &reader)
    case "pipelineValue", "pipeline_value": return try note("PIPELINE_VALUE", &reader)
    case "variableReferenceValue", "variable_reference_value":
      return try note("VARIABLE_REFERENCE_VALUE", &reader)
    default:
      try reader.skip()
      return nil
    }
  }

  private mutating func note(_ type: String, _ reader: inout JSONReader) throws(WireError) -> StoredValue {
    try reader.skip()
    try notes.note(type)
    return try scalar(.null)
  }

  private mutating func scalar(_ value: StoredValue) throws(WireError) -> StoredValue {
    try budget.add(scalar: value)
    return value
  }

  private mutating func map(
    _ reader: inout JSONReader, isElement: Bool, depth: Int
  ) throws(WireError) -> StoredValue {
    try budget.beginMap(depth: depth)
    var entries: [StoredMap.Entry]?
    var key = try reader.beginObject()
    while let name = key {
      if !name.isSameUTF8(as: "fields") {
        try reader.skip()
      } else if try !reader.skipsNull() {
        guard entries == nil else { throw reader.problem("a map has its fields twice") }
        entries = try self.entries(&reader, depth: depth + 1)
      }
      key = try reader.nextKey()
    }
    return try budget.value(ofMap: entries ?? [], isElement: isElement)
  }

  private mutating func array(
    _ reader: inout JSONReader, isElement: Bool, depth: Int
  ) throws(WireError) -> StoredValue {
    try budget.beginArray(depth: depth, isElement: isElement)
    var elements: [StoredValue] = []
    var hasValues = false
    var key = try reader.beginObject()
    while let name = key {
      if !name.isSameUTF8(as: "values") {
        try reader.skip()
      } else if try !reader.skipsNull() {
        guard !hasValues else { throw reader.problem("an array has its values twice") }
        hasValues = true
        notes.beginArray()
        var hasElement = try reader.beginArray()
        while hasElement {
          try reader.count()
          elements.append(try value(&reader, isElement: true, depth: depth + 1))
          hasElement = try reader.nextElement()
        }
        notes.endArray()
      }
      key = try reader.nextKey()
    }
    return .array(elements)
  }

  // MARK: Contents that are read in the same way for a record

  static func timestamp(_ reader: inout JSONReader) throws(WireError) -> StoredTimestamp {
    guard let time = TimeText.parse(try reader.plainString()) else {
      throw reader.problem("there is no time of the years 1 to 9999")
    }
    return try ValueBudget.timestamp(seconds: time.seconds, nanos: time.nanos)
  }

  static func bytes(_ reader: inout JSONReader) throws(WireError) -> [UInt8] {
    guard let bytes = Base64.decode(try reader.plainString()) else {
      throw reader.problem("there is no Base64")
    }
    return bytes
  }

  static func geoPoint(_ reader: inout JSONReader) throws(WireError) -> StoredGeoPoint {
    var (latitude, longitude): (Double?, Double?) = (nil, nil)
    var key = try reader.beginObject()
    while let name = key {
      if name.isSameUTF8(as: "latitude") {
        try number(&reader, into: &latitude)
      } else if name.isSameUTF8(as: "longitude") {
        try number(&reader, into: &longitude)
      } else {
        try reader.skip()
      }
      key = try reader.nextKey()
    }
    return try ValueBudget.geoPoint(latitude: latitude ?? 0, longitude: longitude ?? 0)
  }

  private static func number(_ reader: inout JSONReader, into number: inout Double?) throws(WireError) {
    if try reader.skipsNull() { return }
    guard number == nil else { throw reader.problem("a geo point has a number twice") }
    number = try reader.double()
  }

  /// Reads null: itself, or as the only case of its type.
  static func null(_ reader: inout JSONReader) throws(WireError) {
    if try reader.skipsNull() { return }
    let isNull =
      try reader.kind() == .string
      ? String(decoding: reader.plainString(), as: UTF8.self).isSameUTF8(as: "NULL_VALUE")
      : reader.int32() == 0
    guard isNull else { throw reader.problem("there is no null") }
  }
}
