// Lists the fields that a message visits, in the form of descriptors.tsv.

import DocumentStore
import Harness

@testable import FirestoreWire

struct FieldList: FieldVisitor {
  struct Field: Hashable, CustomStringConvertible {
    var number: Int32
    var name: String
    var type: String

    var description: String { "\(number) \(name): \(type)" }
  }

  struct Enum: Hashable {
    var name: String
    /// The numbers and names of the cases.
    var cases: [String]
  }

  private(set) var fields: [Field] = []
  private(set) var enums: Set<Enum> = []

  init(of type: any WireMessage.Type) throws {
    var message = type.init()
    try message.visit(&self)
  }

  private mutating func add(_ number: Int32, _ name: String, type: String) {
    fields.append(Field(number: number, name: name, type: type))
  }

  mutating func string(_ number: Int32, _ name: String, in value: inout String) {
    add(number, name, type: "string")
  }
  mutating func string(_ number: Int32, _ name: String, in value: inout String?) {
    add(number, name, type: "optional string")
  }
  mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]) {
    add(number, name, type: "bytes")
  }
  mutating func bytes(_ number: Int32, _ name: String, in value: inout [UInt8]?) {
    add(number, name, type: "optional bytes")
  }
  mutating func bool(_ number: Int32, _ name: String, in value: inout Bool) {
    add(number, name, type: "bool")
  }
  mutating func bool(_ number: Int32, _ name: String, in value: inout Bool?) {
    add(number, name, type: "optional bool")
  }
  mutating func int32(_ number: Int32, _ name: String, in value: inout Int32) {
    add(number, name, type: "int32")
  }
  mutating func int32(_ number: Int32, _ name: String, in value: inout Int32?) {
    add(number, name, type: "optional int32")
  }
  mutating func int64(_ number: Int32, _ name: String, in value: inout Int64) {
    add(number, name, type: "int64")
  }
  mutating func double(_ number: Int32, _ name: String, in value: inout Double) {
    add(number, name, type: "double")
  }

  mutating func enumeration<Case: WireEnum>(_ number: Int32, _ name: String, in value: inout Case) {
    add(number, name, type: WireMessages.name(of: Case.self))
    insert(Case.self)
  }
  mutating func enumeration<Case: WireEnum>(_ number: Int32, _ name: String, in value: inout Case?) {
    add(number, name, type: "optional " + WireMessages.name(of: Case.self))
    insert(Case.self)
  }
  private mutating func insert<Case: WireEnum>(_ type: Case.Type) {
    let cases = zip(Case.allCases, Case.names).map { "\($0.rawValue) \($1)" }
    enums.insert(Enum(name: WireMessages.name(of: type), cases: cases))
  }

  mutating func int32Value(_ number: Int32, _ name: String, in value: inout Int32?) {
    add(number, name, type: "google.protobuf.Int32Value")
  }
  mutating func int64Value(_ number: Int32, _ name: String, in value: inout Int64?) {
    add(number, name, type: "google.protobuf.Int64Value")
  }
  mutating func doubleValue(_ number: Int32, _ name: String, in value: inout Double?) {
    add(number, name, type: "google.protobuf.DoubleValue")
  }
  mutating func timestamp(_ number: Int32, _ name: String, in value: inout Wire.Timestamp?) {
    add(number, name, type: "google.protobuf.Timestamp")
  }
  mutating func message<Message: WireMessage>(_ number: Int32, _ name: String, in value: inout Message?) {
    add(number, name, type: WireMessages.name(of: Message.self))
  }

  mutating func strings(_ number: Int32, _ name: String, in values: inout [String]) {
    add(number, name, type: "repeated string")
  }
  mutating func int32s(_ number: Int32, _ name: String, in values: inout [Int32]) {
    add(number, name, type: "repeated int32")
  }
  mutating func messages<Message: WireMessage>(_ number: Int32, _ name: String, in values: inout [Message]) {
    add(number, name, type: "repeated " + WireMessages.name(of: Message.self))
  }
  mutating func labels(_ number: Int32, _ name: String, in labels: inout Wire.Labels) {
    add(number, name, type: "map<string, string>")
  }
  mutating func value(_ number: Int32, _ name: String, in value: inout StoredValue?) {
    add(number, name, type: "google.firestore.v1.Value")
  }
  mutating func values(_ number: Int32, _ name: String, in values: inout [StoredValue]) {
    add(number, name, type: "repeated google.firestore.v1.Value")
  }
  mutating func fields(_ number: Int32, _ name: String, in fields: inout StoredMap) {
    add(number, name, type: "map<string, google.firestore.v1.Value>")
  }
  mutating func notes(of pipelineValues: inout [PipelineValue]) {}
  mutating func replaceMember(with name: String) {}
}
