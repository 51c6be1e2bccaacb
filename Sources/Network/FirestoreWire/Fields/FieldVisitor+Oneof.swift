// Members of a `oneof`, which a message keeps as one optional enum.
//
// Each function visits one member: `make` creates the case, and `content` returns the content of the case, or
// nil if another case is set. A member that is absent on the wire leaves the enum unchanged.

package import DocumentStore

extension FieldVisitor where Self: ~Escapable {
  package mutating func message<Choice, Message: WireMessage>(
    _ number: Int32, _ name: String, of choice: inout Choice?, as make: (Message) -> Choice,
    _ content: (Choice) -> Message?
  ) throws(WireError) {
    var value = Self.take(from: &choice, content)
    try message(number, name, in: &value)
    try set(&choice, to: value.map(make), name: name)
  }

  package mutating func string<Choice>(
    _ number: Int32, _ name: String, of choice: inout Choice?, as make: (String) -> Choice,
    _ content: (Choice) -> String?
  ) throws(WireError) {
    var value = Self.take(from: &choice, content)
    try string(number, name, in: &value)
    try set(&choice, to: value.map(make), name: name)
  }

  package mutating func bytes<Choice>(
    _ number: Int32, _ name: String, of choice: inout Choice?, as make: ([UInt8]) -> Choice,
    _ content: (Choice) -> [UInt8]?
  ) throws(WireError) {
    var value = Self.take(from: &choice, content)
    try bytes(number, name, in: &value)
    try set(&choice, to: value.map(make), name: name)
  }

  package mutating func bool<Choice>(
    _ number: Int32, _ name: String, of choice: inout Choice?, as make: (Bool) -> Choice,
    _ content: (Choice) -> Bool?
  ) throws(WireError) {
    var value = Self.take(from: &choice, content)
    try bool(number, name, in: &value)
    try set(&choice, to: value.map(make), name: name)
  }

  package mutating func int32<Choice>(
    _ number: Int32, _ name: String, of choice: inout Choice?, as make: (Int32) -> Choice,
    _ content: (Choice) -> Int32?
  ) throws(WireError) {
    var value = Self.take(from: &choice, content)
    try int32(number, name, in: &value)
    try set(&choice, to: value.map(make), name: name)
  }

  package mutating func enumeration<Choice, Case: WireEnum>(
    _ number: Int32, _ name: String, of choice: inout Choice?, as make: (Case) -> Choice,
    _ content: (Choice) -> Case?
  ) throws(WireError) {
    var value = Self.take(from: &choice, content)
    try enumeration(number, name, in: &value)
    try set(&choice, to: value.map(make), name: name)
  }

  package mutating func timestamp<Choice>(
    _ number: Int32, _ name: String, of choice: inout Choice?, as make: (Wire.Timestamp) -> Choice,
    _ content: (Choice) -> Wire.Timestamp?
  ) throws(WireError) {
    var value = Self.take(from: &choice, content)
    try timestamp(number, name, in: &value)
    try set(&choice, to: value.map(make), name: name)
  }

  package mutating func value<Choice>(
    _ number: Int32, _ name: String, of choice: inout Choice?, as make: (StoredValue) -> Choice,
    _ content: (Choice) -> StoredValue?
  ) throws(WireError) {
    var value = Self.take(from: &choice, content)
    try self.value(number, name, in: &value)
    try set(&choice, to: value.map(make), name: name)
  }

  /// Removes the content from the choice, so that the caller can change it without a copy.
  private static func take<Choice, Content>(
    from choice: inout Choice?, _ content: (Choice) -> Content?
  ) -> Content? {
    guard let value = choice.flatMap(content) else { return nil }
    choice = nil
    return value
  }

  /// Sets the choice, unless the member is absent. `choice` then still has the case of another member.
  private mutating func set<Choice>(
    _ choice: inout Choice?, to new: Choice?, name: String
  ) throws(WireError) {
    guard let new else { return }
    if choice != nil { try replaceMember(with: name) }
    choice = new
  }
}
