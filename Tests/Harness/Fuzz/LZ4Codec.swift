// The two LZ4 codecs, with Swift types: CPortableLZ4, and on Linux the system's liblz4.

internal import CPortableLZ4
internal import Libc

#if DUGOUT_SYSTEM_LZ4
internal import CLZ4
#endif

package enum LZ4Codec: CaseIterable, Sendable {
  case portable
  #if DUGOUT_SYSTEM_LZ4
  case system
  #endif

  /// Where the dictionary is when a block is decoded.
  package enum DictionaryPlace: CaseIterable, Sendable { case beforeOutput, elsewhere }

  /// Decodes a block from memory of exactly its size, so that the address sanitizer detects reads beyond its
  /// end. Returns nil if the block is refused. Throws if bytes beside the output were written.
  package func decode(
    _ block: [UInt8], capacity: Int, dictionary: [UInt8] = [], at place: DictionaryPlace = .elsewhere
  ) throws(FuzzFinding) -> [UInt8]? {
    let stored = Self.memory(of: block)
    let apart = Self.memory(of: dictionary)
    let margin = [UInt8](repeating: 0xA5, count: 32)
    let room = Self.memory(of: dictionary + [UInt8](repeating: 0x5A, count: capacity) + margin)
    defer { for memory in [stored, apart, room] { memory.deallocate() } }
    let output = UnsafeMutableRawBufferPointer(rebasing: room[dictionary.count..<dictionary.count + capacity])
    let before = UnsafeMutableRawBufferPointer(rebasing: room[..<dictionary.count])
    let count = decode(stored, into: output, place == .elsewhere ? apart : before)
    let isIntact = apart.baseAddress.map { memcmp($0, room.baseAddress!, apart.count) == 0 } ?? true
    guard isIntact, room.suffix(margin.count).elementsEqual(margin) else {
      throw FuzzFinding("\(self) writes beside the output")
    }
    return count < 0 ? nil : Array(output.prefix(count))
  }

  private func decode(
    _ block: UnsafeMutableRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
    _ dictionary: UnsafeMutableRawBufferPointer
  ) -> Int {
    switch self {
    case .portable:
      dugout_lz4_decode_with_dictionary(
        block.baseAddress, block.count, output.baseAddress, output.count, dictionary.baseAddress,
        dictionary.count)
    #if DUGOUT_SYSTEM_LZ4
    case .system:
      Int(
        LZ4_decompress_safe_usingDict(
          block.baseAddress, output.baseAddress, Int32(block.count), Int32(output.count),
          dictionary.baseAddress, Int32(dictionary.count)))
    #endif
    }
  }

  /// Encodes bytes. `capacity` is the largest size of the block, by default the bound. Returns nil if the
  /// block does not fit. Throws if bytes after `capacity` were written.
  package func encode(
    _ input: [UInt8], dictionary: [UInt8] = [], capacity: Int? = nil
  ) throws(FuzzFinding) -> [UInt8]? {
    let plain = Self.memory(of: input)
    let preceding = Self.memory(of: dictionary)
    let capacity = capacity ?? dugout_lz4_bound(input.count)
    let margin = [UInt8](repeating: 0xA5, count: 32)
    let room = Self.memory(of: [UInt8](repeating: 0, count: capacity) + margin)
    defer { for memory in [plain, preceding, room] { memory.deallocate() } }
    let count = encode(plain, into: UnsafeMutableRawBufferPointer(rebasing: room[..<capacity]), preceding)
    guard room.suffix(margin.count).elementsEqual(margin) else {
      throw FuzzFinding("\(self) writes past the capacity")
    }
    return count == 0 ? nil : Array(room.prefix(count))
  }

  private func encode(
    _ input: UnsafeMutableRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
    _ dictionary: UnsafeMutableRawBufferPointer
  ) -> Int {
    switch self {
    case .portable:
      guard !dictionary.isEmpty else {
        return dugout_lz4_encode(input.baseAddress, input.count, output.baseAddress, output.count)
      }
      let prepared = UnsafeMutablePointer<dugout_lz4_dictionary>.allocate(capacity: 1)
      defer { prepared.deallocate() }
      dugout_lz4_prepare(prepared, dictionary.baseAddress, dictionary.count)
      return dugout_lz4_encode_with_dictionary(
        prepared, input.baseAddress, input.count, output.baseAddress, output.count)
    #if DUGOUT_SYSTEM_LZ4
    case .system:
      let stream = LZ4_createStream()
      defer { LZ4_freeStream(stream) }
      LZ4_loadDict(stream, dictionary.baseAddress, Int32(dictionary.count))
      return Int(
        LZ4_compress_fast_continue(
          stream, input.baseAddress, output.baseAddress, Int32(input.count), Int32(output.count), 1))
    #endif
    }
  }

  private static func memory(of bytes: [UInt8]) -> UnsafeMutableRawBufferPointer {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    memory.copyBytes(from: bytes)
    return memory
  }
}
