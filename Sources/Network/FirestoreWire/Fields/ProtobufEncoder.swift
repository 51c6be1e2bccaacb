// The visitor that encodes protobuf.
//
// Fields are written in the order of the visit, entries of maps in the order of their names. Two equal
// messages therefore have equal bytes.

package import DocumentStore

/// Encodes the fields of a message.
package struct ProtobufEncoder: FieldVisitor {
  private var writer: ProtobufWriter

  init(_ writer: ProtobufWriter = ProtobufWriter()) { self.writer = writer }

  var bytes: [UInt8] { writer.bytes }

  mutating func encode(_ message: some WireMessage) throws(WireError) {
    // Only visiting needs a variable. An encoder changes no field.
    var message = message
    try message.visitFields(&self)
  }

  // MARK: Scalars

  package mutating func string(_ number: Int32, _ name: String, in value: inout String) {
    if !value.isEmpty { writer.field(number, string: value) }
  }

  package mutating func string(_ number: Int32, _ name: String, in value: inout String?) {
    if let value { writer.field(number, string: value) }
  }

  package mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]) {
    if !value.isEmpty { writer.field(number, bytes: value) }
  }

  package mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]?) {
    if let value { writer.field(number, bytes: value) }
  }

  package mutating func bool(_ number: Int32, _ name: String, in value: inout Bool) {
    if value { writer.field(number, varint: 1) }
  }

  package mutating func bool(_ number: Int32, _ name: String, in value: inout Bool?) {
    if let value { writer.field(number, varint: value ? 1 : 0) }
  }

  package mutating func int32(_ number: Int32, _ name: String, in value: inout Int32) {
    if value != 0 { writer.field(number, integer: value) }
  }

  package mutating func int32(_ number: Int32, _ name: String, in value: inout Int32?) {
    if let value { writer.field(number, integer: value) }
  }

  package mutating func int64(_ number: Int32, _ name: String, in value: inout Int64) {
    if value != 0 { writer.field(number, integer: value) }
  }

  /// Negative zero is not the default value.
  package mutating func double(_ number: Int32, _ name: String, in value: inout Double) {
    if value.bitPattern != 0 { writer.field(number, double: value) }
  }

  package mutating func enumeration<Case: WireEnum>(_ number: Int32, _ name: String, in value: inout Case) {
    if value != .unspecified { writer.field(number, integer: value.rawValue) }
  }

  package mutating func enumeration<Case: WireEnum>(_ number: Int32, _ name: String, in value: inout Case?) {
    if let value { writer.field(number, integer: value.rawValue) }
  }

  // MARK: Messages

  package mutating func message<Message: WireMessage>(
    _ number: Int32, _ name: String, in value: inout Message?
  ) throws(WireError) {
    if let value { try write(value, as: number) }
  }

  package mutating func messages<Message: WireMessage>(
    _ number: Int32, _ name: String, in values: inout [Message]
  ) throws(WireError) {
    for value in values { try write(value, as: number) }
  }

  private mutating func write(_ message: some WireMessage, as number: Int32) throws(WireError) {
    let start = writer.beginMessage(number)
    try encode(message)
    writer.endMessage(at: start)
  }

  package mutating func timestamp(
    _ number: Int32, _ name: String, in value: inout Wire.Timestamp?
  ) throws(WireError) {
    if let value { try write(value, as: number) }
  }

  package mutating func int32Value(
    _ number: Int32, _ name: String, in value: inout Int32?
  ) throws(WireError) {
    if let value { try write(Int32Wrapper(value), as: number) }
  }

  package mutating func int64Value(
    _ number: Int32, _ name: String, in value: inout Int64?
  ) throws(WireError) {
    if let value { try write(Int64Wrapper(value), as: number) }
  }

  package mutating func doubleValue(
    _ number: Int32, _ name: String, in value: inout Double?
  ) throws(WireError) {
    if let value { try write(DoubleWrapper(value), as: number) }
  }

  // MARK: Repeated fields

  package mutating func strings(_ number: Int32, _ name: String, in values: inout [String]) {
    for value in values { writer.field(number, string: value) }
  }

  package mutating func int32s(_ number: Int32, _ name: String, in values: inout [Int32]) {
    guard !values.isEmpty else { return }
    let start = writer.beginMessage(number)
    for value in values { writer.varint(UInt64(bitPattern: Int64(value))) }
    writer.endMessage(at: start)
  }

  package mutating func labels(
    _ number: Int32, _ name: String, in labels: inout Wire.Labels
  ) throws(WireError) {
    for entry in labels.entries {
      // The entries of a map always have both fields.
      let start = writer.beginMessage(number)
      writer.field(1, string: entry.key)
      writer.field(2, string: entry.value)
      writer.endMessage(at: start)
    }
  }

  // MARK: Values

  package mutating func value(
    _ number: Int32, _ name: String, in value: inout StoredValue?
  ) throws(WireError) {
    if let value { try ValueWriter.write(value, as: number, to: &writer) }
  }

  package mutating func values(
    _ number: Int32, _ name: String, in values: inout [StoredValue]
  ) throws(WireError) {
    for value in values { try ValueWriter.write(value, as: number, to: &writer) }
  }

  package mutating func fields(
    _ number: Int32, _ name: String, in fields: inout StoredMap
  ) throws(WireError) {
    try DocumentFieldsWriter.write(fields, as: number, to: &writer)
  }

  /// Throws if a value is missing in the message.
  package mutating func notes(of pipelineValues: inout [PipelineValue]) throws(WireError) {
    if let value = pipelineValues.first { throw PipelineValue.refused(value.type) }
  }

  // MARK: Choices

  /// Never called, because no member is read.
  package mutating func replaceMember(with name: String) {}
}
