// The visitor that encodes the JSON mapping of protobuf.
//
// Names are in lower camel case, integers of 64 bits are strings, bytes are Base64, timestamps are RFC 3339,
// and cases of enums are names. Absent fields are left out.

package import DocumentStore

/// Encodes the fields of a message.
package struct JSONMessageEncoder: FieldVisitor {
  private var writer: JSONWriter

  init(_ writer: JSONWriter = JSONWriter()) { self.writer = writer }

  var bytes: [UInt8] { writer.bytes }

  mutating func encode(_ message: some WireMessage) throws(WireError) {
    // Only visiting needs a variable. An encoder changes no field.
    var message = message
    writer.beginObject()
    try message.visitFields(&self)
    writer.endObject()
  }

  // MARK: Scalars

  package mutating func string(_ number: Int32, _ name: String, in value: inout String) {
    guard !value.isEmpty else { return }
    writer.key(field: name)
    writer.string(value)
  }

  package mutating func string(_ number: Int32, _ name: String, in value: inout String?) {
    guard let value else { return }
    writer.key(field: name)
    writer.string(value)
  }

  package mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]) {
    guard !value.isEmpty else { return }
    writer.key(field: name)
    writer.base64(value)
  }

  package mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]?) {
    guard let value else { return }
    writer.key(field: name)
    writer.base64(value)
  }

  package mutating func bool(_ number: Int32, _ name: String, in value: inout Bool) {
    guard value else { return }
    writer.key(field: name)
    writer.boolean(value)
  }

  package mutating func bool(_ number: Int32, _ name: String, in value: inout Bool?) {
    guard let value else { return }
    writer.key(field: name)
    writer.boolean(value)
  }

  package mutating func int32(_ number: Int32, _ name: String, in value: inout Int32) {
    guard value != 0 else { return }
    writer.key(field: name)
    writer.int32(value)
  }

  package mutating func int32(_ number: Int32, _ name: String, in value: inout Int32?) {
    guard let value else { return }
    writer.key(field: name)
    writer.int32(value)
  }

  package mutating func int64(_ number: Int32, _ name: String, in value: inout Int64) {
    guard value != 0 else { return }
    writer.key(field: name)
    writer.int64(value)
  }

  package mutating func double(_ number: Int32, _ name: String, in value: inout Double) {
    guard value.bitPattern != 0 else { return }
    writer.key(field: name)
    writer.double(value)
  }

  package mutating func enumeration<Case: WireEnum>(_ number: Int32, _ name: String, in value: inout Case) {
    if value != .unspecified { write(value, as: name) }
  }

  package mutating func enumeration<Case: WireEnum>(_ number: Int32, _ name: String, in value: inout Case?) {
    if let value { write(value, as: name) }
  }

  private mutating func write<Case: WireEnum>(_ value: Case, as name: String) {
    writer.key(field: name)
    if let match = zip(Case.allCases, Case.names).first(where: { $0.0 == value }) {
      writer.string(match.1)
    } else {
      writer.int32(value.rawValue)
    }
  }

  // MARK: Messages

  package mutating func message<Message: WireMessage>(
    _ number: Int32, _ name: String, in value: inout Message?
  ) throws(WireError) {
    guard let value else { return }
    writer.key(field: name)
    try encode(value)
  }

  package mutating func messages<Message: WireMessage>(
    _ number: Int32, _ name: String, in values: inout [Message]
  ) throws(WireError) {
    guard !values.isEmpty else { return }
    writer.key(field: name)
    writer.beginArray()
    for value in values { try encode(value) }
    writer.endArray()
  }

  package mutating func timestamp(
    _ number: Int32, _ name: String, in value: inout Wire.Timestamp?
  ) throws(WireError) {
    guard let value else { return }
    guard let text = TimeText.format(seconds: value.seconds, nanos: value.nanos) else {
      throw WireError("The field \(name) is not a time of the years 1 to 9999.")
    }
    writer.key(field: name)
    writer.string(text)
  }

  package mutating func duration(
    _ number: Int32, _ name: String, in value: inout Wire.Duration?
  ) throws(WireError) {
    guard let value else { return }
    guard let text = value.text else { throw WireError("The field \(name) is not a duration.") }
    writer.key(field: name)
    writer.string(text)
  }

  package mutating func int32Value(_ number: Int32, _ name: String, in value: inout Int32?) {
    int32(number, name, in: &value)
  }

  package mutating func int64Value(_ number: Int32, _ name: String, in value: inout Int64?) {
    guard let value else { return }
    writer.key(field: name)
    writer.int64(value)
  }

  package mutating func doubleValue(_ number: Int32, _ name: String, in value: inout Double?) {
    guard let value else { return }
    writer.key(field: name)
    writer.double(value)
  }

  // MARK: Repeated fields

  package mutating func strings(_ number: Int32, _ name: String, in values: inout [String]) {
    guard !values.isEmpty else { return }
    writer.key(field: name)
    writer.beginArray()
    for value in values { writer.string(value) }
    writer.endArray()
  }

  package mutating func int32s(_ number: Int32, _ name: String, in values: inout [Int32]) {
    guard !values.isEmpty else { return }
    writer.key(field: name)
    writer.beginArray()
    for value in values { writer.int32(value) }
    writer.endArray()
  }

  package mutating func labels(_ number: Int32, _ name: String, in labels: inout Wire.Labels) {
    guard !labels.isEmpty else { return }
    writer.key(field: name)
    write(labels)
  }

  package mutating func structs(_ number: Int32, _ name: String, in values: inout [Wire.Labels]) {
    guard !values.isEmpty else { return }
    writer.key(field: name)
    writer.beginArray()
    for value in values { write(value) }
    writer.endArray()
  }

  private mutating func write(_ labels: Wire.Labels) {
    writer.beginObject()
    for entry in labels.entries {
      writer.key(entry.key)
      writer.string(entry.value)
    }
    writer.endObject()
  }

  // MARK: Values

  package mutating func value(
    _ number: Int32, _ name: String, in value: inout StoredValue?
  ) throws(WireError) {
    guard let value else { return }
    writer.key(field: name)
    try ValueWriter.write(value, to: &writer)
  }

  package mutating func values(
    _ number: Int32, _ name: String, in values: inout [StoredValue]
  ) throws(WireError) {
    guard !values.isEmpty else { return }
    writer.key(field: name)
    writer.beginArray()
    for value in values { try ValueWriter.write(value, to: &writer) }
    writer.endArray()
  }

  package mutating func fields(
    _ number: Int32, _ name: String, in fields: inout StoredMap
  ) throws(WireError) {
    guard !fields.isEmpty else { return }
    writer.key(field: name)
    try DocumentFieldsWriter.write(fields, to: &writer)
  }

  /// Throws if a value is missing in the message.
  package mutating func notes(of pipelineValues: inout [PipelineValue]) throws(WireError) {
    if let value = pipelineValues.first { throw PipelineValue.refused(value.type) }
  }

  // MARK: Choices

  /// Never called, because no member is read.
  package mutating func replaceMember(with name: String) {}
}
