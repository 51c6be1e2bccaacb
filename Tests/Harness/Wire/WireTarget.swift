// Fuzzes the messages of google.firestore.v1 in both encodings.
//
//   input := kind:u8 form:u8 rest
//
// `kind` chooses the message, and `form` protobuf or JSON. A message that is decoded must survive both
// encodings and its translation into engine values, and take memory in proportion to its bytes.

import FirestoreWire

struct WireTarget: FuzzTarget {
  static let name = "wire"
  let seeds: [[UInt8]]

  /// The memory that an input may take: room for the caches of the process, and a multiple of its bytes.
  private static let memoryMin = 32 << 20
  private static let memoryPerByte = 1000

  init(seed: UInt64) { seeds = WireSeeds(seed: seed).inputs }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    guard input.count >= 2 else { return "too short" }
    let type = WireMessages.all[Int(input[0]) % WireMessages.all.count]
    let form: WireAgreement.Form = input[1] & 1 == 0 ? .protobuf : .json
    let rest = Array(input.dropFirst(2))
    let before = PeakMemory.bytes
    let outcome = try WireAgreement.check(rest, as: type, form)
    let taken = PeakMemory.bytes - before
    guard taken <= Self.memoryMin + Self.memoryPerByte * input.count else {
      throw FuzzFinding("\(type) of \(input.count) bytes takes \(taken) bytes")
    }
    return "\(type): \(outcome)"
  }

  func variant(of input: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8]? {
    guard input.count > 2, !random.oneIn(3) else { return nil }
    let (head, rest, other) = (Array(input.prefix(2)), Array(input.dropFirst(2)), Array(other.dropFirst(2)))
    return head
      + (input[1] & 1 == 0
        ? WireMutator.mutated(rest, other: other, &random) : JSONMutator.mutated(rest, other: other, &random))
  }
}

/// Valid inputs of the target: several random messages of every kind, and messages that have a translation,
/// in both encodings.
struct WireSeeds {
  private(set) var inputs: [[UInt8]] = []

  init(seed: UInt64) {
    for (number, type) in WireMessages.all.enumerated() {
      for round in 0..<UInt64(6) {
        add(UInt8(number), type, seed: SeededRandom.seed(seed, UInt64(number), round))
      }
    }
    let (query, write) = (ServiceSeeds.query, ServiceSeeds.write)
    let parent = #""parent":"\#(ServiceSeeds.documentsName)""#
    let request = #"{\#(parent),"structuredQuery":\#(query)}"#
    add(Wire.StructuredQuery.self, query)
    add(Wire.Write.self, write)
    add(Wire.RunQueryRequest.self, request)
    add(Wire.Target.self, #"{"targetId":2,"query":\#(request)}"#)
  }

  private mutating func add<Message: WireMessage>(_ type: Message.Type, _ json: String) {
    let json = Array(json.utf8)
    guard let kind = WireMessages.all.firstIndex(where: { $0 == type }),
      let message = try? Message(json: json).protobuf()
    else { preconditionFailure("a message of \(type) is not valid") }
    inputs += [[UInt8(kind), 1] + json, [UInt8(kind), 0] + message]
  }

  private mutating func add<Message: WireMessage>(_ kind: UInt8, _ type: Message.Type, seed: UInt64) {
    var random = RandomFields(seed: seed)
    guard let message = try? random.filled(Message.self) else { return }
    if let protobuf = try? message.protobuf() { inputs.append([kind, 0] + protobuf) }
    if let json = try? message.json() { inputs.append([kind, 1] + json) }
  }
}
