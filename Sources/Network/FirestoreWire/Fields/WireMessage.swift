// The protocol of messages.

/// A message, described once by `visit`. All encoders and decoders go through this description.
package protocol WireMessage: Sendable, Equatable {
  /// Creates a message whose fields are all absent.
  init()

  /// Calls the visitor once for each field, in the order in which the fields are written.
  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError)

  // Each message has its own machine code for each visitor of this module: the compiler specialises the
  // default implementations below for the message. A call of the generic function above would look up the
  // functions of the visitor at run time.
  mutating func visitFields(_ decoder: inout ProtobufDecoder) throws(WireError)
  mutating func visitFields(_ encoder: inout ProtobufEncoder) throws(WireError)
  mutating func visitFields(_ decoder: inout JSONMessageDecoder) throws(WireError)
  mutating func visitFields(_ encoder: inout JSONMessageEncoder) throws(WireError)
}

extension WireMessage {
  package mutating func visitFields(_ decoder: inout ProtobufDecoder) throws(WireError) {
    try visit(&decoder)
  }

  package mutating func visitFields(_ encoder: inout ProtobufEncoder) throws(WireError) {
    try visit(&encoder)
  }

  package mutating func visitFields(_ decoder: inout JSONMessageDecoder) throws(WireError) {
    try visit(&decoder)
  }

  package mutating func visitFields(_ encoder: inout JSONMessageEncoder) throws(WireError) {
    try visit(&encoder)
  }
}

/// An enum of the protocol.
package protocol WireEnum: RawRepresentable<Int32>, CaseIterable, Sendable, Equatable {
  /// The names in the protocol, in the order of `allCases`.
  static var names: [String] { get }
  /// The case with the number 0.
  static var unspecified: Self { get }
  /// The case for unknown numbers. This is `unspecified`, unless that case has a meaning of its own, which an
  /// unknown number must not get.
  static var unknownNumber: Self { get }
}

extension WireEnum {
  package static var unknownNumber: Self { unspecified }
}
