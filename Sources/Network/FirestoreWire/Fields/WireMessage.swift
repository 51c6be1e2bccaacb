// The protocol of messages.

/// A message, described once by `visit`. All encoders and decoders go through this description.
package protocol WireMessage: Sendable, Equatable {
  /// Creates a message whose fields are all absent.
  init()

  /// Calls the visitor once for each field, in the order in which the fields are written.
  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError)
}

/// An enum of the protocol. Unknown numbers are decoded as `unspecified`, the case with the number 0.
package protocol WireEnum: RawRepresentable<Int32>, CaseIterable, Sendable, Equatable {
  /// The names in the protocol, in the order of `allCases`.
  static var names: [String] { get }
  /// The case with the number 0.
  static var unspecified: Self { get }
}
