// The visitor that decodes protobuf.
//
// The decoder holds the tag of the next field. A function of the visitor reads the field, and those that
// follow with its number, if the tag is the one of this function. A message is visited until all of its
// fields are read. Fields in order need one visit. A visit that reads nothing has met an unknown field, which
// is skipped.

/// Decodes the fields of a message.
package struct ProtobufDecoder: FieldVisitor, ~Escapable {
  var reader: ProtobufReader
  /// The tag of the field that is read next; nil at the end of the message.
  private var tag: ProtobufTag?
  /// Values of pipelines that no message has taken note of.
  var pipelineValues: [PipelineValue] = []

  @_lifetime(copy reader)
  init(_ reader: consuming ProtobufReader) { self.reader = reader }

  /// Reads the fields of the outermost message.
  mutating func decodeAll(_ message: inout some WireMessage) throws(WireError) {
    try decode(&message)
    if let value = pipelineValues.first { throw PipelineValue.refused(value.type) }
  }

  /// Reads the fields of the current message. Fields that the message has already are replaced, or extended
  /// if they are repeated, or merged if they are messages.
  private mutating func decode(_ message: inout some WireMessage) throws(WireError) {
    tag = try reader.tag()
    while let before = tag {
      let offset = reader.offset
      try message.visitFields(&self)
      guard reader.offset == offset else { continue }
      repeat {
        try reader.skip(before)
        try advance()
      } while tag == before
    }
  }

  /// Whether the next field has this number and type.
  @inline(__always)
  func isNext(_ number: Int32, _ type: ProtobufTag.WireType) -> Bool {
    tag == ProtobufTag(number, type)
  }

  @inline(__always)
  mutating func advance() throws(WireError) { tag = try reader.tag() }

  // MARK: Scalars

  package mutating func string(_ number: Int32, _ name: String, in value: inout String) throws(WireError) {
    while isNext(number, .length) {
      value = try reader.string()
      try advance()
    }
  }

  package mutating func string(_ number: Int32, _ name: String, in value: inout String?) throws(WireError) {
    while isNext(number, .length) {
      value = try reader.string()
      try advance()
    }
  }

  package mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]) throws(WireError) {
    while isNext(number, .length) {
      value = try reader.byteArray()
      try advance()
    }
  }

  package mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]?) throws(WireError) {
    while isNext(number, .length) {
      value = try reader.byteArray()
      try advance()
    }
  }

  package mutating func bool(_ number: Int32, _ name: String, in value: inout Bool) throws(WireError) {
    if let bits = try varint(number) { value = bits != 0 }
  }

  package mutating func bool(_ number: Int32, _ name: String, in value: inout Bool?) throws(WireError) {
    if let bits = try varint(number) { value = bits != 0 }
  }

  package mutating func int32(_ number: Int32, _ name: String, in value: inout Int32) throws(WireError) {
    if let bits = try varint(number) { value = Int32(truncatingIfNeeded: bits) }
  }

  package mutating func int32(_ number: Int32, _ name: String, in value: inout Int32?) throws(WireError) {
    if let bits = try varint(number) { value = Int32(truncatingIfNeeded: bits) }
  }

  package mutating func int64(_ number: Int32, _ name: String, in value: inout Int64) throws(WireError) {
    if let bits = try varint(number) { value = Int64(bitPattern: bits) }
  }

  package mutating func enumeration<Case: WireEnum>(
    _ number: Int32, _ name: String, in value: inout Case
  ) throws(WireError) {
    if let bits = try varint(number) { value = Self.enumCase(bits) }
  }

  package mutating func enumeration<Case: WireEnum>(
    _ number: Int32, _ name: String, in value: inout Case?
  ) throws(WireError) {
    if let bits = try varint(number) { value = Self.enumCase(bits) }
  }

  private static func enumCase<Case: WireEnum>(_ bits: UInt64) -> Case {
    Case(rawValue: Int32(truncatingIfNeeded: bits)) ?? .unknownNumber
  }

  /// The last number of the fields that follow; nil if the next field is another one.
  @inline(__always)
  private mutating func varint(_ number: Int32) throws(WireError) -> UInt64? {
    var value: UInt64?
    while isNext(number, .varint) {
      value = try reader.varint()
      try advance()
    }
    return value
  }

  package mutating func double(_ number: Int32, _ name: String, in value: inout Double) throws(WireError) {
    while isNext(number, .fixed64) {
      value = try reader.double()
      try advance()
    }
  }

  // MARK: Messages

  package mutating func message<Message: WireMessage>(
    _ number: Int32, _ name: String, in value: inout Message?
  ) throws(WireError) {
    while isNext(number, .length) {
      // The message is taken out of the variable, so that it is changed in place.
      var message = value.take() ?? Message()
      try decodeNested(&message)
      value = message
    }
  }

  package mutating func messages<Message: WireMessage>(
    _ number: Int32, _ name: String, in values: inout [Message]
  ) throws(WireError) {
    while isNext(number, .length) {
      try reader.count(of: Message.self)
      var message = Message()
      try decodeNested(&message)
      values.append(message)
    }
  }

  private mutating func decodeNested(_ message: inout some WireMessage) throws(WireError) {
    let outer = try reader.enter()
    try decode(&message)
    reader.leave(to: outer)
    try advance()
  }

  package mutating func timestamp(
    _ number: Int32, _ name: String, in value: inout Wire.Timestamp?
  ) throws(WireError) {
    try message(number, name, in: &value)
  }

  package mutating func int32Value(
    _ number: Int32, _ name: String, in value: inout Int32?
  ) throws(WireError) {
    var wrapper = value.map(Int32Wrapper.init)
    try message(number, name, in: &wrapper)
    value = wrapper?.value
  }

  package mutating func int64Value(
    _ number: Int32, _ name: String, in value: inout Int64?
  ) throws(WireError) {
    var wrapper = value.map(Int64Wrapper.init)
    try message(number, name, in: &wrapper)
    value = wrapper?.value
  }

  package mutating func doubleValue(
    _ number: Int32, _ name: String, in value: inout Double?
  ) throws(WireError) {
    var wrapper = value.map(DoubleWrapper.init)
    try message(number, name, in: &wrapper)
    value = wrapper?.value
  }

  // MARK: Choices

  /// The last member on the wire wins.
  package mutating func replaceMember(with name: String) {}
}
