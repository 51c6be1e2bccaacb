// Writes fields and values as JSON.
//
// A record is written straight from its bytes. A tree of values is written in the same way.

import ByteStore
import DocumentStore

enum JSONFieldsWriter {
  /// Writes an object with the fields. Returns false if a record turns out to be damaged.
  static func write(_ fields: StoredMap, to writer: inout JSONWriter) -> Bool {
    if let isWhole = fields.withRecordFields({ write($0, to: &writer) }) { return isWhole }
    writer.beginObject()
    for (name, value) in fields.entries {
      writer.key(name)
      write(value, to: &writer)
    }
    writer.endObject()
    return true
  }

  // MARK: Records

  private static func write(_ map: borrowing MapView, to writer: inout JSONWriter) -> Bool {
    var isWhole = true
    writer.beginObject()
    let isMap = map.forEachField { name, value in
      writer.key(utf8: name.bytes)
      if !write(value, to: &writer) { isWhole = false }
    }
    writer.endObject()
    return isMap && isWhole
  }

  /// Writes the content of a map value. Fields that are empty are absent.
  private static func write(content map: borrowing MapView, to writer: inout JSONWriter) -> Bool {
    var (isWhole, isEmpty) = (true, true)
    let isMap = map.forEachField { name, value in
      if isEmpty {
        writer.key("fields")
        writer.beginObject()
        isEmpty = false
      }
      writer.key(utf8: name.bytes)
      if !write(value, to: &writer) { isWhole = false }
    }
    if !isEmpty { writer.endObject() }
    return isMap && isWhole
  }

  /// Writes the content of an array value. Values that are empty are absent.
  private static func write(content array: borrowing ValueView, to writer: inout JSONWriter) -> Bool {
    var (isWhole, isEmpty) = (true, true)
    let isArray = array.forEachElement { element in
      if isEmpty {
        writer.key("values")
        writer.beginArray()
        isEmpty = false
      }
      if !write(element, to: &writer) { isWhole = false }
    }
    if !isEmpty { writer.endArray() }
    return isArray && isWhole
  }

  private static func write(_ value: borrowing ValueView, to writer: inout JSONWriter) -> Bool {
    var isWhole = true
    writer.beginObject()
    switch value.kind {
    case .null: writeNull(to: &writer)
    case .boolean: write(boolean: value.boolean == true, to: &writer)
    case .integer: write(integer: value.integer ?? 0, to: &writer)
    case .double: write(double: value.double ?? 0, to: &writer)
    case .timestamp:
      if let time = value.timestamp { write(time, to: &writer) } else { isWhole = false }
    case .text:
      writer.key("stringValue")
      _ = value.withText { writer.string(utf8: $0.bytes) }
    case .bytes:
      writer.key("bytesValue")
      _ = value.withBytes { writer.base64([UInt8](copying: $0)) }
    case .reference:
      writer.key("referenceValue")
      isWhole = value.withReference { writer.string(utf8: name($0, $1, path: $2).rawSpan) } != nil
    case .geoPoint:
      if let (latitude, longitude) = value.geoPoint {
        writeGeoPoint(latitude: latitude, longitude: longitude, to: &writer)
      }
    case .array:
      writer.key("arrayValue")
      writer.beginObject()
      isWhole = write(content: value, to: &writer)
      writer.endObject()
    case .vector:
      _ = value.withVector { elements in
        writeVector(count: elements.byteCount / 8, to: &writer) {
          Double(bitPattern: elements.littleEndianWord(8 * $0))
        }
      }
    case .map:
      writer.key("mapValue")
      writer.beginObject()
      isWhole = value.withMap { write(content: $0, to: &writer) } ?? false
      writer.endObject()
    }
    writer.endObject()
    return isWhole
  }

  private static func name(_ project: RawSpan, _ database: RawSpan, path: RawSpan) -> [UInt8] {
    var name: [UInt8] = []
    name.append(utf8: "projects/")
    name.append(copying: project)
    name.append(utf8: "/databases/")
    name.append(copying: database)
    name.append(utf8: "/documents/")
    name.append(copying: path)
    return name
  }

  // MARK: Trees

  static func write(_ value: StoredValue, to writer: inout JSONWriter) {
    writer.beginObject()
    switch value {
    // A pending time has no value that another process may see.
    case .null, .pendingTimestamp: writeNull(to: &writer)
    case .boolean(let value): write(boolean: value, to: &writer)
    case .integer(let value): write(integer: value, to: &writer)
    case .double(let value): write(double: value, to: &writer)
    case .timestamp(let time): write(time, to: &writer)
    case .string(let text):
      writer.key("stringValue")
      writer.string(text)
    case .bytes(let bytes):
      writer.key("bytesValue")
      writer.base64(bytes)
    case .reference(let reference):
      writer.key("referenceValue")
      writer.string(ResourceName(reference).text)
    case .geoPoint(let point):
      writeGeoPoint(latitude: point.latitude, longitude: point.longitude, to: &writer)
    case .array(let elements):
      writer.key("arrayValue")
      writer.beginObject()
      if !elements.isEmpty {
        writer.key("values")
        writer.beginArray()
        for element in elements { write(element, to: &writer) }
        writer.endArray()
      }
      writer.endObject()
    case .vector(let elements): writeVector(count: elements.count, to: &writer) { elements[$0] }
    case .map(let fields):
      writer.key("mapValue")
      writer.beginObject()
      if !fields.isEmpty {
        writer.key("fields")
        _ = write(fields, to: &writer)
      }
      writer.endObject()
    }
    writer.endObject()
  }

  // MARK: Single values

  private static func writeNull(to writer: inout JSONWriter) {
    writer.key("nullValue")
    writer.null()
  }

  private static func write(boolean: Bool, to writer: inout JSONWriter) {
    writer.key("booleanValue")
    writer.boolean(boolean)
  }

  private static func write(integer: Int64, to writer: inout JSONWriter) {
    writer.key("integerValue")
    writer.int64(integer)
  }

  private static func write(double: Double, to writer: inout JSONWriter) {
    writer.key("doubleValue")
    writer.double(double)
  }

  private static func write(_ time: StoredTimestamp, to writer: inout JSONWriter) {
    writer.key("timestampValue")
    // A stored time is always between the years 1 and 9999.
    writer.string(TimeText.format(seconds: time.seconds, nanos: time.nanoseconds) ?? "")
  }

  private static func writeGeoPoint(latitude: Double, longitude: Double, to writer: inout JSONWriter) {
    writer.key("geoPointValue")
    writer.beginObject()
    if latitude.bitPattern != 0 {
      writer.key("latitude")
      writer.double(latitude)
    }
    if longitude.bitPattern != 0 {
      writer.key("longitude")
      writer.double(longitude)
    }
    writer.endObject()
  }

  /// A vector is a map with a type and an array of doubles.
  private static func writeVector(count: Int, to writer: inout JSONWriter, _ element: (Int) -> Double) {
    writer.key("mapValue")
    writer.beginObject()
    writer.key("fields")
    writer.beginObject()
    writer.key("__type__")
    writer.beginObject()
    writer.key("stringValue")
    writer.string("__vector__")
    writer.endObject()
    writer.key("value")
    writer.beginObject()
    writer.key("arrayValue")
    writer.beginObject()
    if count > 0 {
      writer.key("values")
      writer.beginArray()
      for index in 0..<count {
        writer.beginObject()
        write(double: element(index), to: &writer)
        writer.endObject()
      }
      writer.endArray()
    }
    writer.endObject()
    writer.endObject()
    writer.endObject()
    writer.endObject()
  }
}
