// Large parts of inputs: what a decoder does with many elements, and what an error says about a long text.

enum Growth {
  private static let bytesMax = 48 << 10

  /// The number of times to repeat an element of an input, which stays small in most cases.
  static func count(of element: [UInt8], in input: [UInt8], _ random: inout SeededRandom) -> Int {
    let room = bytesMax - input.count
    guard room > 0 else { return 0 }
    return 1 + (room >> random.below(12)) / max(1, element.count)
  }

  /// A long text of one of the shapes that a parser splits or counts in its own way.
  static func text(_ random: inout SeededRandom) -> [UInt8] {
    let shapes = ["x", "\u{301}", "a/", "a.", "a,", "a desc,", "`", "/", "%41", "\u{1F600}", "a`.`"]
    let shape = Array(shapes[random.below(shapes.count)].utf8)
    let count = (bytesMax >> random.below(12)) / (2 * shape.count)
    return [UInt8(ascii: "a")] + repeatElement(shape, count: count).joined()
  }
}
