// The visitor that decodes the JSON mapping of protobuf.
//
// It works like the decoder of protobuf: the decoder holds the next key, and a function of the visitor reads
// the value if the key is one of the two names of its field. A message is visited until all keys are read.
// Null means absent. Unknown keys are skipped; a field that occurs twice is refused.

/// Decodes the fields of a message.
package struct JSONMessageDecoder: FieldVisitor, ~Escapable {
  var reader: JSONReader
  /// The key of the value that is read next; nil at the end of the object.
  private var key: String?
  /// The numbers of the fields that the current message has had.
  private var seen = FieldNumbers()
  /// Values of pipelines that no message has taken note of.
  var pipelineValues: [PipelineValue] = []

  @_lifetime(copy reader)
  init(_ reader: consuming JSONReader) { self.reader = reader }

  /// Reads an object, and checks that nothing follows it.
  mutating func decodeAll(_ message: inout some WireMessage) throws(WireError) {
    try decode(&message)
    try reader.finish()
    if let value = pipelineValues.first { throw PipelineValue.refused(value.type) }
  }

  private mutating func decode(_ message: inout some WireMessage) throws(WireError) {
    let outer = seen
    seen = FieldNumbers()
    key = try reader.beginObject()
    while key != nil {
      let offset = reader.offset
      try message.visitFields(&self)
      guard reader.offset == offset else { continue }
      try reader.skip()
      try advance()
    }
    seen = outer
  }

  /// Whether the next value belongs to this field, and is not null.
  mutating func isNext(_ number: Int32, _ name: String) throws(WireError) -> Bool {
    while let next = key, FieldName.matches(next, name) {
      guard seen.insert(number) else { throw WireError("The field \(name) occurs twice in an object.") }
      guard try reader.skipsNull() else { return true }
      try advance()
    }
    return false
  }

  mutating func advance() throws(WireError) { key = try reader.nextKey() }

  // MARK: Scalars

  package mutating func string(_ number: Int32, _ name: String, in value: inout String) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try reader.string()
    try advance()
  }

  package mutating func string(_ number: Int32, _ name: String, in value: inout String?) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try reader.string()
    try advance()
  }

  package mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try base64(name)
    try advance()
  }

  package mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]?) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try base64(name)
    try advance()
  }

  package mutating func bool(_ number: Int32, _ name: String, in value: inout Bool) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try reader.boolean()
    try advance()
  }

  package mutating func bool(_ number: Int32, _ name: String, in value: inout Bool?) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try reader.boolean()
    try advance()
  }

  package mutating func int32(_ number: Int32, _ name: String, in value: inout Int32) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try reader.int32()
    try advance()
  }

  package mutating func int32(_ number: Int32, _ name: String, in value: inout Int32?) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try reader.int32()
    try advance()
  }

  package mutating func int64(_ number: Int32, _ name: String, in value: inout Int64) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try reader.int64()
    try advance()
  }

  package mutating func double(_ number: Int32, _ name: String, in value: inout Double) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try reader.double()
    try advance()
  }

  package mutating func enumeration<Case: WireEnum>(
    _ number: Int32, _ name: String, in value: inout Case
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try enumCase(name)
    try advance()
  }

  package mutating func enumeration<Case: WireEnum>(
    _ number: Int32, _ name: String, in value: inout Case?
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try enumCase(name)
    try advance()
  }

  private mutating func base64(_ name: String) throws(WireError) -> [UInt8] {
    guard let bytes = Base64.decode(try reader.plainString()) else {
      throw WireError("The field \(name) is not Base64.")
    }
    return bytes
  }

  /// Reads the name or the number of a case. Unknown numbers are `unknownNumber`, unknown names are refused.
  private mutating func enumCase<Case: WireEnum>(_ name: String) throws(WireError) -> Case {
    guard try reader.kind() == .string else { return Case(rawValue: try reader.int32()) ?? .unknownNumber }
    let text = try reader.string()
    guard let match = zip(Case.allCases, Case.names).first(where: { $0.1.utf8.elementsEqual(text.utf8) })
    else {
      throw WireError("The field \(name) has no value '\(shortened(text))'.")
    }
    return match.0
  }

  // MARK: Messages

  package mutating func message<Message: WireMessage>(
    _ number: Int32, _ name: String, in value: inout Message?
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    var message = Message()
    try decode(&message)
    value = message
    try advance()
  }

  package mutating func messages<Message: WireMessage>(
    _ number: Int32, _ name: String, in values: inout [Message]
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    var hasElement = try reader.beginArray()
    while hasElement {
      try reader.count(of: Message.self)
      var message = Message()
      try decode(&message)
      values.append(message)
      hasElement = try reader.nextElement()
    }
    try advance()
  }

  package mutating func timestamp(
    _ number: Int32, _ name: String, in value: inout Wire.Timestamp?
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    guard let time = TimeText.parse(try reader.plainString()) else {
      throw WireError("The field \(name) is not a timestamp of RFC 3339.")
    }
    value = Wire.Timestamp(seconds: time.seconds, nanos: time.nanos)
    try advance()
  }

  package mutating func duration(
    _ number: Int32, _ name: String, in value: inout Wire.Duration?
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    guard let duration = Wire.Duration(text: try reader.plainString()) else {
      throw WireError("The field \(name) is not a duration.")
    }
    value = duration
    try advance()
  }

  package mutating func int32Value(
    _ number: Int32, _ name: String, in value: inout Int32?
  ) throws(WireError) {
    try int32(number, name, in: &value)
  }

  package mutating func int64Value(
    _ number: Int32, _ name: String, in value: inout Int64?
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try reader.int64()
    try advance()
  }

  package mutating func doubleValue(
    _ number: Int32, _ name: String, in value: inout Double?
  ) throws(WireError) {
    guard try isNext(number, name) else { return }
    value = try reader.double()
    try advance()
  }

  // MARK: Choices

  package mutating func replaceMember(with name: String) throws(WireError) {
    throw WireError("The field \(name) cannot be in an object with another member of its choice.")
  }
}
