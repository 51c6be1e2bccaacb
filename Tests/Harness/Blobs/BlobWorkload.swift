// A random workload for the object store.

import ByteStore
import DocumentStore

/// The steps in order. A number identifies a content and determines its bytes.
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
  /// A content of more than one chunk, so that a staged part of it survives.
  private static let longContent = 6

  let steps: [Step]

  init(_ random: inout SeededRandom) {
    var steps: [Step] = []
    for _ in 0..<6 + random.below(10) {
      let weighted: [Kind] = [
        .put, .put, .put, .put, .staged, .resumed, .cancelled, .delete, .delete, .update, .sweep, .reopen,
      ]
      let kind = weighted[random.below(weighted.count)]
      let isLong = kind == .staged && random.oneIn(2)
      steps.append(
        Step(
          kind: kind, name: Self.names[random.below(Self.names.count)],
          content: isLong ? Self.longContent : random.below(Self.contents.count)))
    }
    self.steps = steps
  }

  static func content(_ number: Int) -> [UInt8] { contents[number] }

  /// The contents are empty, small, packed, compressible, or stored in a separate file with one or several
  /// chunks.
  static let contents: [[UInt8]] = [0, 100, 1500, 1990, 5000, 300_000, 700_000].enumerated().map {
    number, size in
    var random = SeededRandom(seed: UInt64(number) &+ 77)
    if number == longContent { return (0..<size).map { UInt8(truncatingIfNeeded: $0 >> 10) } }
    if number % 2 == 1 { return [UInt8](repeating: UInt8(number), count: size) }
    return random.bytes(size)
  }
}
