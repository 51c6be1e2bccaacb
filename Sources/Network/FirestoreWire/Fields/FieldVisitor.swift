// The visitor to which a message describes its fields.
//
// A decoder sets the values, an encoder reads them. Each function is one type of field: its arguments are the
// number of the field, its name in the protocol, and its value. There are three kinds of presence:
//
//   value            absent if it has the default value: zero, false, empty, the case 0
//   optional value   absent if nil: messages, and members of a `oneof`
//   array, map       absent if empty

package import DocumentStore

/// Encodes or decodes the fields that `WireMessage.visit` names.
package protocol FieldVisitor: ~Escapable {
  mutating func string(_ number: Int32, _ name: String, in value: inout String) throws(WireError)
  mutating func string(_ number: Int32, _ name: String, in value: inout String?) throws(WireError)
  mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]) throws(WireError)
  mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]?) throws(WireError)
  mutating func bool(_ number: Int32, _ name: String, in value: inout Bool) throws(WireError)
  mutating func bool(_ number: Int32, _ name: String, in value: inout Bool?) throws(WireError)
  mutating func int32(_ number: Int32, _ name: String, in value: inout Int32) throws(WireError)
  mutating func int32(_ number: Int32, _ name: String, in value: inout Int32?) throws(WireError)
  mutating func int64(_ number: Int32, _ name: String, in value: inout Int64) throws(WireError)
  mutating func double(_ number: Int32, _ name: String, in value: inout Double) throws(WireError)
  mutating func enumeration<Case: WireEnum>(
    _ number: Int32, _ name: String, in value: inout Case) throws(WireError)
  mutating func enumeration<Case: WireEnum>(
    _ number: Int32, _ name: String, in value: inout Case?) throws(WireError)

  /// `google.protobuf.Int32Value`, `Int64Value` and `DoubleValue`: messages with one number, which are plain
  /// numbers in JSON.
  mutating func int32Value(_ number: Int32, _ name: String, in value: inout Int32?) throws(WireError)
  mutating func int64Value(_ number: Int32, _ name: String, in value: inout Int64?) throws(WireError)
  mutating func doubleValue(_ number: Int32, _ name: String, in value: inout Double?) throws(WireError)
  /// `google.protobuf.Timestamp`: a message, which is a string in JSON.
  mutating func timestamp(_ number: Int32, _ name: String, in value: inout Wire.Timestamp?) throws(WireError)
  /// `google.protobuf.Duration`: a message, which is a string in JSON.
  mutating func duration(_ number: Int32, _ name: String, in value: inout Wire.Duration?) throws(WireError)
  mutating func message<Message: WireMessage>(
    _ number: Int32, _ name: String, in value: inout Message?) throws(WireError)

  mutating func strings(_ number: Int32, _ name: String, in values: inout [String]) throws(WireError)
  mutating func int32s(_ number: Int32, _ name: String, in values: inout [Int32]) throws(WireError)
  mutating func messages<Message: WireMessage>(
    _ number: Int32, _ name: String, in values: inout [Message]) throws(WireError)
  /// `map<string, string>`.
  mutating func labels(_ number: Int32, _ name: String, in labels: inout Wire.Labels) throws(WireError)
  /// `repeated google.protobuf.Struct`, whose values are texts: objects in JSON.
  mutating func structs(_ number: Int32, _ name: String, in values: inout [Wire.Labels]) throws(WireError)

  /// `google.firestore.v1.Value`.
  mutating func value(_ number: Int32, _ name: String, in value: inout StoredValue?) throws(WireError)
  /// `repeated google.firestore.v1.Value`.
  mutating func values(_ number: Int32, _ name: String, in values: inout [StoredValue]) throws(WireError)
  /// `map<string, google.firestore.v1.Value>`. If several entries have the same name, the last one wins.
  mutating func fields(_ number: Int32, _ name: String, in fields: inout StoredMap) throws(WireError)

  /// Takes note of the values of pipelines that are in the message, behind its fields. A message that does
  /// not call it cannot have any.
  mutating func notes(of pipelineValues: inout [PipelineValue]) throws(WireError)

  /// Called for a member of a `oneof` that was read while another member was set. The last member wins in
  /// protobuf; JSON must not contain two.
  mutating func replaceMember(with name: String) throws(WireError)
}

// MARK: - The forms of protobuf

extension FieldVisitor where Self: ~Escapable {
  package mutating func duration(
    _ number: Int32, _ name: String, in value: inout Wire.Duration?
  ) throws(WireError) {
    try message(number, name, in: &value)
  }

  package mutating func structs(
    _ number: Int32, _ name: String, in values: inout [Wire.Labels]
  ) throws(WireError) {
    var messages = values.map(TextStruct.init)
    try self.messages(number, name, in: &messages)
    values = messages.map(\.labels)
  }
}
