// Fuzzes the portable LZ4 codec, beside the reference decoder and, on Linux, liblz4.
//
//   input := flags:u8 capacity:u16 dictionaryBytes:u16 dictionary rest
//
// Flag 1 encodes the rest; otherwise the rest is a block. Flag 2 puts the dictionary before the output. Flag
// 4 repeats the rest until it has `capacity` bytes, which makes long inputs of short ones.

struct LZ4Target: FuzzTarget {
  static let name = "lz4"
  let seeds: [[UInt8]]

  init(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let text = Array("{\"name\": \"river stone\", \"place\": \"harbour\"}\n".utf8)
    let samples = [text, text + text + text, random.bytes(40), [UInt8](repeating: 7, count: 300), []]
    seeds = samples.flatMap { sample in
      (0...7).map { (flags: UInt8) in
        let block = flags & 1 == 1 ? sample : (try? LZ4Codec.portable.encode(sample, dictionary: text)) ?? []
        return Self.input(flags: flags, capacity: sample.count, text, block)
      }
    }
  }

  private static func input(
    flags: UInt8, capacity: Int, _ dictionary: [UInt8], _ rest: [UInt8]
  ) -> [UInt8] {
    let sizes = [capacity & 255, capacity >> 8, dictionary.count & 255, dictionary.count >> 8]
    return [flags] + sizes.map { UInt8($0) } + dictionary + rest
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    guard input.count >= 5 else { return "too short" }
    let capacity = Int(input[1]) | Int(input[2]) << 8
    let dictionaryBytes = Int(input[3]) | Int(input[4]) << 8
    let dictionary = Array(input.dropFirst(5).prefix(dictionaryBytes))
    var rest = Array(input.dropFirst(5 + dictionaryBytes))
    let place: LZ4Codec.DictionaryPlace = input[0] & 2 == 2 ? .beforeOutput : .elsewhere
    if input[0] & 1 == 0 {
      return try LZ4Agreement.check(block: rest, capacity: capacity, dictionary: dictionary, at: place)
    }
    if input[0] & 4 == 4, !rest.isEmpty {
      rest = (0..<capacity).map { rest[$0 % rest.count] }
    }
    return try LZ4Agreement.check(input: rest, dictionary: dictionary, at: place)
  }
}

/// The properties of the codecs, for any block and for any input.
package enum LZ4Agreement {
  /// Decodes a block with all decoders. If content of exactly `capacity` bytes results, as the engine
  /// demands, the decoders must agree. Shorter content may end in a way that the format forbids, which liblz4
  /// does not always notice. Only liblz4 accepts offsets of zero. Returns a description.
  package static func check(
    block: [UInt8], capacity: Int, dictionary: [UInt8], at place: LZ4Codec.DictionaryPlace
  ) throws(FuzzFinding) -> String {
    let own = try LZ4Codec.portable.decode(block, capacity: capacity, dictionary: dictionary, at: place)
    let isWhole = own?.count == capacity
    let reference = ReferenceLZ4.decode(block, plainBytes: capacity, dictionary)
    if isWhole, reference != own { throw FuzzFinding("the content differs from the reference decoder's") }
    #if DUGOUT_SYSTEM_LZ4
    let system = try LZ4Codec.system.decode(block, capacity: capacity, dictionary: dictionary, at: place)
    if own != nil, own != system { throw FuzzFinding("the content differs from liblz4's") }
    if own == nil, system?.count == capacity, reference != nil {
      throw FuzzFinding("a block is refused that liblz4 decodes")
    }
    #endif
    guard own != nil else { return "refused, \(place)" }
    return "\(isWhole ? "whole" : "short") content, \(place)"
  }

  /// Encodes an input with all encoders, and decodes the blocks with all decoders. Returns a description.
  package static func check(
    input: [UInt8], dictionary: [UInt8], at place: LZ4Codec.DictionaryPlace
  ) throws(FuzzFinding) -> String {
    var isShorter = false
    for encoder in LZ4Codec.allCases {
      guard let block = try encoder.encode(input, dictionary: dictionary) else {
        throw FuzzFinding("\(encoder): the bound is too small")
      }
      for decoder in LZ4Codec.allCases {
        let content = try decoder.decode(block, capacity: input.count, dictionary: dictionary, at: place)
        guard content == input else { throw FuzzFinding("\(decoder) does not decode a block of \(encoder)") }
      }
      guard encoder == .portable else { continue }
      isShorter = block.count < input.count
      let exact = try encoder.encode(input, dictionary: dictionary, capacity: block.count)
      guard exact == block else { throw FuzzFinding("the capacity changes the block") }
      let cramped = try encoder.encode(input, dictionary: dictionary, capacity: block.count - 1)
      guard cramped == nil else { throw FuzzFinding("a block is longer than its capacity") }
    }
    return "encoded \(isShorter ? "shorter" : "longer"), \(place)"
  }
}
