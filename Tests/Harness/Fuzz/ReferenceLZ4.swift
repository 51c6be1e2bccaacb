// The reference decoder of LZ4 blocks.

/// A decoder of the LZ4 block format, written from the specification of the format. The decoder is slow, but
/// independent of the engine's decoders.
enum ReferenceLZ4 {
  static func decode(_ block: [UInt8], plainBytes: Int, _ dictionary: [UInt8]) -> [UInt8]? {
    var output = dictionary
    let end = dictionary.count + plainBytes
    var input = block[...]
    while let token = input.popFirst() {
      guard let literals = length(Int(token >> 4), &input), literals <= input.count,
        output.count + literals <= end
      else { return nil }
      output += input.prefix(literals)
      input = input.dropFirst(literals)
      if input.isEmpty { break }
      guard let low = input.popFirst(), let high = input.popFirst(),
        let match = length(Int(token & 15), &input)
      else { return nil }
      let offset = Int(low) | Int(high) << 8
      guard offset > 0, offset <= output.count, output.count + match + 4 <= end else { return nil }
      for _ in 0..<match + 4 { output.append(output[output.count - offset]) }
    }
    return output.count == end ? Array(output.dropFirst(dictionary.count)) : nil
  }

  private static func length(_ nibble: Int, _ input: inout ArraySlice<UInt8>) -> Int? {
    guard nibble == 15 else { return nibble }
    var length = 15
    while let byte = input.popFirst() {
      length += Int(byte)
      if byte < 255 { return length }
    }
    return nil
  }

  /// Whether the block may contain an offset of zero, which the specification leaves undefined.
  static func isUndefined(_ block: [UInt8]) -> Bool {
    zip(block, block.dropFirst()).contains { $0 == 0 && $1 == 0 }
  }
}
