// Writes values and fields of documents.

package import DocumentStore
import OfflineSync

/// Writes `google.firestore.v1.Value`.
package enum ValueWriter {
  /// Writes a value as a field of a message.
  package static func write(
    _ value: StoredValue, as number: Int32, to writer: inout ProtobufWriter
  ) throws(WireError) {
    let start = writer.beginMessage(number)
    switch value {
    case .null: writer.field(11, varint: 0)
    case .boolean(let value): writer.field(1, varint: value ? 1 : 0)
    case .integer(let value): writer.field(2, integer: value)
    case .double(let value): writer.field(3, double: value)
    case .timestamp(let value):
      let inner = writer.beginMessage(10)
      if value.seconds != 0 { writer.field(1, integer: value.seconds) }
      if value.nanoseconds != 0 { writer.field(2, integer: value.nanoseconds) }
      writer.endMessage(at: inner)
    case .string(let value): writer.field(17, string: value)
    case .bytes(let value): writer.field(18, bytes: value)
    case .reference(let value): writer.field(5, string: name(value))
    case .geoPoint(let value):
      let inner = writer.beginMessage(8)
      if value.latitude.bitPattern != 0 { writer.field(1, double: value.latitude) }
      if value.longitude.bitPattern != 0 { writer.field(2, double: value.longitude) }
      writer.endMessage(at: inner)
    case .array(let values):
      let inner = writer.beginMessage(9)
      for value in values { try write(value, as: 1, to: &writer) }
      writer.endMessage(at: inner)
    case .map(let fields):
      let inner = writer.beginMessage(6)
      try DocumentFieldsWriter.write(fields, as: 1, to: &writer)
      writer.endMessage(at: inner)
    case .vector, .pendingTimestamp: throw WireError(.internal, "The value cannot be written.")
    }
    writer.endMessage(at: start)
  }

  static func name(_ reference: StoredReference) -> String {
    "projects/\(reference.projectID)/databases/\(reference.databaseID)/documents/\(reference.path)"
  }

  /// Writes a value of JSON.
  package static func write(_ value: StoredValue, to writer: inout JSONWriter) throws(WireError) {
    writer.beginObject()
    switch value {
    case .null:
      writer.key("nullValue")
      writer.null()
    case .boolean(let value):
      writer.key("booleanValue")
      writer.boolean(value)
    case .integer(let value):
      writer.key("integerValue")
      writer.int64(value)
    case .double(let value):
      writer.key("doubleValue")
      writer.double(value)
    case .timestamp(let value):
      writer.key("timestampValue")
      writer.string(TimeText.format(seconds: value.seconds, nanos: value.nanoseconds) ?? "")
    case .string(let value):
      writer.key("stringValue")
      writer.string(value)
    case .bytes(let value):
      writer.key("bytesValue")
      writer.base64(value)
    case .reference(let value):
      writer.key("referenceValue")
      writer.string(name(value))
    case .geoPoint(let value):
      writer.key("geoPointValue")
      writer.beginObject()
      if value.latitude.bitPattern != 0 {
        writer.key("latitude")
        writer.double(value.latitude)
      }
      if value.longitude.bitPattern != 0 {
        writer.key("longitude")
        writer.double(value.longitude)
      }
      writer.endObject()
    case .array(let values):
      writer.key("arrayValue")
      writer.beginObject()
      if !values.isEmpty {
        writer.key("values")
        writer.beginArray()
        for value in values { try write(value, to: &writer) }
        writer.endArray()
      }
      writer.endObject()
    case .map(let fields):
      writer.key("mapValue")
      writer.beginObject()
      if !fields.isEmpty {
        writer.key("fields")
        try DocumentFieldsWriter.write(fields, to: &writer)
      }
      writer.endObject()
    case .vector, .pendingTimestamp: throw WireError(.internal, "The value cannot be written.")
    }
    writer.endObject()
  }
}

/// Writes `map<string, Value>`.
package enum DocumentFieldsWriter {
  /// Writes the entries as fields of a message.
  package static func write(
    _ fields: StoredMap, as number: Int32, to writer: inout ProtobufWriter
  ) throws(WireError) {
    for entry in fields.entries {
      let start = writer.beginMessage(number)
      writer.field(1, string: entry.name)
      try ValueWriter.write(entry.value, as: 2, to: &writer)
      writer.endMessage(at: start)
    }
  }

  /// Writes an object of JSON.
  package static func write(_ fields: StoredMap, to writer: inout JSONWriter) throws(WireError) {
    writer.beginObject()
    for entry in fields.entries {
      writer.key(entry.name)
      try ValueWriter.write(entry.value, to: &writer)
    }
    writer.endObject()
  }
}
