// Encodes and decodes messages.

import ByteStore

extension WireMessage {
  /// Decodes protobuf. Unknown fields are skipped.
  package init(protobuf bytes: [UInt8], limits: WireLimits = .standard) throws(WireError) {
    try self.init(protobuf: bytes.rawSpan, limits: limits)
  }

  package init(protobuf bytes: RawSpan, limits: WireLimits = .standard) throws(WireError) {
    self.init()
    var decoder = ProtobufDecoder(try ProtobufReader(bytes, limits: limits))
    try decoder.decodeAll(&self)
  }

  /// Encodes as protobuf. Equal messages have equal bytes.
  package func protobuf() throws(WireError) -> [UInt8] {
    // Room for most messages, which then grow no further.
    var encoder = ProtobufEncoder(ProtobufWriter(reservingBytes: 512))
    try encoder.encode(self)
    return encoder.bytes
  }

  /// Decodes the JSON mapping of protobuf. Unknown fields are skipped.
  package init(json bytes: [UInt8], limits: WireLimits = .standard) throws(WireError) {
    try self.init(json: bytes.rawSpan, limits: limits)
  }

  package init(json bytes: RawSpan, limits: WireLimits = .standard) throws(WireError) {
    self.init()
    var decoder = JSONMessageDecoder(try JSONReader(bytes, limits: limits))
    try decoder.decodeAll(&self)
  }

  /// Encodes as the JSON mapping of protobuf.
  package func json() throws(WireError) -> [UInt8] {
    var encoder = JSONMessageEncoder()
    try encoder.encode(self)
    return encoder.bytes
  }
}
