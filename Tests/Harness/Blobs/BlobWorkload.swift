// Steps with objects that dice chose.

import ByteStore
import DocumentStore

/// Steps in their order. A content is a number, from which its bytes follow.
struct BlobWorkload: Sendable {
  enum Kind: String, CaseIterable, Sendable {
    case put, staged, resumed, cancelled, delete, update, sweep, reopen
  }

  struct Step: Sendable {
    var kind: Kind
    var name: String
    var content: Int
  }

  static let names = ["a", "b", "folder/c", "folder/d"]
  private static let contents = 6

  let steps: [Step]

  init(_ random: inout SeededRandom) {
    var steps: [Step] = []
    for _ in 0..<6 + random.below(10) {
      let weighted: [Kind] = [
        .put, .put, .put, .put, .staged, .resumed, .cancelled, .delete, .delete, .update, .sweep, .reopen,
      ]
      steps.append(
        Step(
          kind: weighted[random.below(weighted.count)], name: Self.names[random.below(Self.names.count)],
          content: random.below(Self.contents)))
    }
    self.steps = steps
  }

  /// Empty, small, packed, compressible, and in a file of its own, of one chunk and of several.
  static func content(_ number: Int) -> [UInt8] {
    let sizes = [0, 100, 1500, 1990, 5000, 300_000]
    var random = SeededRandom(seed: UInt64(number) &+ 77)
    if number % 2 == 1 { return [UInt8](repeating: UInt8(number), count: sizes[number]) }
    return random.bytes(sizes[number])
  }
}
