// Compares the messages with the official descriptors.

import Harness
import Testing

@testable import FirestoreWire

@Suite struct DescriptorTests {
  @Test func everyMessageHasTheFieldsOfItsDescriptor() throws {
    let descriptors = try WireFixtures.descriptors().messages
    let names = WireMessages.all.map(WireFixtures.name)
    #expect(Set(names).count == names.count)
    #expect(Set(names) == Set(descriptors.map(\.name)))
    for type in WireMessages.all {
      let descriptor = descriptors.first { $0.name == WireFixtures.name(of: type) }
      let fields = try FieldList(of: type).fields
      #expect(fields == descriptor?.fields, "\(type)")
    }
  }

  @Test func everyEnumHasTheCasesOfItsDescriptor() throws {
    var enums: Set<FieldList.Enum> = []
    for type in WireMessages.all { enums.formUnion(try FieldList(of: type).enums) }
    #expect(enums == (try WireFixtures.descriptors().enums))
    #expect(enums.count == 8)
  }

  /// Two members of a oneof on the wire: the second one replaces the first one.
  @Test func membersOfAOneofReplaceEachOther() throws {
    var count = 0
    for descriptor in try WireFixtures.descriptors().messages {
      let type = try #require(WireMessages.all.first { WireFixtures.name(of: $0) == descriptor.name })
      for numbers in descriptor.oneofs.values {
        for first in numbers {
          for second in numbers where second != first {
            let fields = descriptor.fields.filter { [first, second].contains($0.number) }
            let contents = Dictionary(uniqueKeysWithValues: fields.map { ($0.number, content(of: $0)) })
            let message = try type.init(protobuf: (contents[first] ?? []) + (contents[second] ?? []))
            #expect(try message.protobuf() == contents[second], "\(descriptor.name) \(first) \(second)")
            count += 1
          }
        }
      }
    }
    #expect(count > 80)
  }

  /// The field with its tag, and a content that is written again.
  private func content(of field: FieldList.Field) -> [UInt8] {
    var writer = ProtobufWriter()
    switch field.type {
    case "optional bool", "optional int32": writer.field(field.number, varint: 1)
    case _ where field.type.hasSuffix("ServerValue"): writer.field(field.number, varint: 1)
    // The value null.
    case "google.firestore.v1.Value": writer.field(field.number, bytes: [11 << 3, 0])
    default: writer.field(field.number, bytes: [])
    }
    return writer.bytes
  }
}
