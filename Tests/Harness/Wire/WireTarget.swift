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

  init(seed: UInt64) { seeds = WireSeeds(seed: seed).inputs }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    guard input.count >= 2 else { return "too short" }
    let type = WireMessages.all[Int(input[0]) % WireMessages.all.count]
    let form: WireAgreement.Form = input[1] & 1 == 0 ? .protobuf : .json
    return "\(type): \(try WireAgreement.check(Array(input.dropFirst(2)), as: type, form))"
  }

  func variant(of input: [UInt8], other: [UInt8], _ random: inout SeededRandom) -> [UInt8]? {
    guard input.count > 2, !random.oneIn(3) else { return nil }
    let (head, rest, other) = (Array(input.prefix(2)), Array(input.dropFirst(2)), Array(other.dropFirst(2)))
    return head
      + (input[1] & 1 == 0
        ? WireMutator.mutated(rest, other: other, &random) : JSONMutator.mutated(rest, other: other, &random))
  }
}
