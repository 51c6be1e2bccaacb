// Reads values and fields of documents.

package import DocumentStore

/// Reads `google.firestore.v1.Value`.
package enum ValueReader {
  /// Reads the length and the content of a value.
  package static func read(_ reader: inout ProtobufReader) throws(WireError) -> StoredValue {
    let outer = try reader.enter()
    var value: StoredValue?
    while let tag = try reader.tag() {
      switch (tag.number, tag.type) {
      case (1, .varint): value = .boolean(try reader.varint() != 0)
      case (2, .varint): value = .integer(Int64(bitPattern: try reader.varint()))
      case (3, .fixed64): value = .double(try reader.double())
      case (5, .length): value = .reference(try reference(try reader.string()))
      case (6, .length): value = try map(&reader)
      case (8, .length): value = try geoPoint(&reader)
      case (9, .length): value = .array(try array(&reader))
      case (10, .length): value = .timestamp(try timestamp(&reader))
      case (11, .varint):
        _ = try reader.varint()
        value = .null
      case (17, .length): value = .string(try reader.string())
      case (18, .length): value = .bytes(try reader.byteArray())
      case (19...22, .length): throw WireError("A value cannot be part of a pipeline.")
      default: try reader.skip(tag)
      }
    }
    reader.leave(to: outer)
    guard let value else { throw WireError("A value has no type.") }
    return value
  }

  private static func map(_ reader: inout ProtobufReader) throws(WireError) -> StoredValue {
    let outer = try reader.enter()
    var map = StoredMap()
    let entries = ProtobufTag(1, .length)
    while let tag = try reader.tag() {
      if tag == entries {
        map = try DocumentFieldsReader.read(&reader, entries: entries)
      } else {
        try reader.skip(tag)
      }
    }
    reader.leave(to: outer)
    return .map(map)
  }

  private static func array(_ reader: inout ProtobufReader) throws(WireError) -> [StoredValue] {
    let outer = try reader.enter()
    var values: [StoredValue] = []
    while let tag = try reader.tag() {
      if tag == ProtobufTag(1, .length) {
        try reader.count()
        values.append(try read(&reader))
      } else {
        try reader.skip(tag)
      }
    }
    reader.leave(to: outer)
    return values
  }

  private static func geoPoint(_ reader: inout ProtobufReader) throws(WireError) -> StoredValue {
    let outer = try reader.enter()
    var (latitude, longitude) = (0.0, 0.0)
    while let tag = try reader.tag() {
      switch (tag.number, tag.type) {
      case (1, .fixed64): latitude = try reader.double()
      case (2, .fixed64): longitude = try reader.double()
      default: try reader.skip(tag)
      }
    }
    reader.leave(to: outer)
    return .geoPoint(try point(latitude, longitude))
  }

  static func point(_ latitude: Double, _ longitude: Double) throws(WireError) -> StoredGeoPoint {
    guard let point = StoredGeoPoint(latitude: latitude, longitude: longitude) else {
      throw WireError("A geographic location is outside the earth.")
    }
    return point
  }

  private static func timestamp(_ reader: inout ProtobufReader) throws(WireError) -> StoredTimestamp {
    let outer = try reader.enter()
    var time = Wire.Timestamp()
    while let tag = try reader.tag() {
      switch (tag.number, tag.type) {
      case (1, .varint): time.seconds = Int64(bitPattern: try reader.varint())
      case (2, .varint): time.nanos = Int32(truncatingIfNeeded: try reader.varint())
      default: try reader.skip(tag)
      }
    }
    reader.leave(to: outer)
    guard let stored = time.stored else { throw WireError("A timestamp is out of range.") }
    return stored
  }

  static func reference(_ name: String) throws(WireError) -> StoredReference {
    let parts = name.pathSegments
    guard parts.count > 5, parts[0] == "projects", parts[2] == "databases", parts[4] == "documents",
      let path = try? DocumentPath(Array(parts[5...]))
    else { throw WireError("The reference '\(name)' is not the name of a document.") }
    return StoredReference(projectID: parts[1], databaseID: parts[3], path: path)
  }
}

/// Reads `map<string, Value>`.
package enum DocumentFieldsReader {
  /// Reads the entry behind its tag, and those that follow with this tag.
  package static func read(
    _ reader: inout ProtobufReader, entries tag: ProtobufTag
  ) throws(WireError) -> StoredMap {
    var entries: [StoredMap.Entry] = []
    repeat {
      try reader.count()
      let outer = try reader.enter()
      var name = ""
      var value: StoredValue?
      while let tag = try reader.tag() {
        switch (tag.number, tag.type) {
        case (1, .length): name = try reader.string()
        case (2, .length): value = try ValueReader.read(&reader)
        default: try reader.skip(tag)
        }
      }
      reader.leave(to: outer)
      guard let value else { throw WireError("The field '\(name)' has no value.") }
      entries.append((name, value))
    } while try reader.skips(tag)
    return StoredMap(entries)
  }

  /// Reads an object of JSON.
  package static func read(_ reader: inout JSONReader) throws(WireError) -> StoredMap {
    var entries: [StoredMap.Entry] = []
    var key = try reader.beginObject()
    while let name = key {
      try reader.count()
      entries.append((name, try ValueReader.read(&reader)))
      key = try reader.nextKey()
    }
    return StoredMap(entries)
  }
}
