// Reads values and fields of documents in JSON.

package import DocumentStore

extension ValueReader {
  /// Reads a value of JSON.
  package static func read(_ reader: inout JSONReader) throws(WireError) -> StoredValue {
    var value: StoredValue?
    var key = try reader.beginObject()
    while let name = key {
      switch name {
      case "nullValue", "null_value":
        try reader.skip()
        value = .null
      case "booleanValue", "boolean_value": value = .boolean(try reader.boolean())
      case "integerValue", "integer_value": value = .integer(try reader.int64())
      case "doubleValue", "double_value": value = .double(try reader.double())
      case "referenceValue", "reference_value": value = .reference(try reference(try reader.string()))
      case "stringValue", "string_value": value = .string(try reader.string())
      case "bytesValue", "bytes_value":
        guard let bytes = Base64.decode(try reader.plainString()) else { throw WireError("Not Base64.") }
        value = .bytes(bytes)
      case "timestampValue", "timestamp_value":
        guard let time = TimeText.parse(try reader.plainString()),
          let stored = StoredTimestamp(seconds: time.seconds, nanoseconds: time.nanos)
        else { throw WireError("A timestamp is out of range.") }
        value = .timestamp(stored)
      case "geoPointValue", "geo_point_value": value = .geoPoint(try geoPoint(&reader))
      case "mapValue", "map_value": value = .map(try map(&reader))
      case "arrayValue", "array_value": value = .array(try array(&reader))
      default: try reader.skip()
      }
      key = try reader.nextKey()
    }
    guard let value else { throw WireError("A value has no type.") }
    return value
  }

  private static func geoPoint(_ reader: inout JSONReader) throws(WireError) -> StoredGeoPoint {
    var (latitude, longitude) = (0.0, 0.0)
    var key = try reader.beginObject()
    while let name = key {
      switch name {
      case "latitude": latitude = try reader.double()
      case "longitude": longitude = try reader.double()
      default: try reader.skip()
      }
      key = try reader.nextKey()
    }
    return try point(latitude, longitude)
  }

  private static func map(_ reader: inout JSONReader) throws(WireError) -> StoredMap {
    var map = StoredMap()
    var key = try reader.beginObject()
    while let name = key {
      if name == "fields" { map = try DocumentFieldsReader.read(&reader) } else { try reader.skip() }
      key = try reader.nextKey()
    }
    return map
  }

  private static func array(_ reader: inout JSONReader) throws(WireError) -> [StoredValue] {
    var values: [StoredValue] = []
    var key = try reader.beginObject()
    while let name = key {
      if name == "values" {
        var hasElement = try reader.beginArray()
        while hasElement {
          try reader.count()
          values.append(try read(&reader))
          hasElement = try reader.nextElement()
        }
      } else {
        try reader.skip()
      }
      key = try reader.nextKey()
    }
    return values
  }
}
