// LZ4 blocks, encoded and decoded by the system's lz4 or by Dugout's own code. Only this file knows which of
// the two is built.
//
// The manifest defines DUGOUT_SYSTEM_LZ4 where the system has lz4. It does not know the C library of the
// target, so Musl is excluded here. Each codec decodes the blocks of the other one.

#if DUGOUT_SYSTEM_LZ4 && !canImport(Musl)

internal import CLZ4

enum LZ4Block {
  /// The version of the codec at run time, such as 1.9.4.
  static var version: String {
    let number = LZ4_versionNumber()
    return "\(number / 10_000).\(number / 100 % 100).\(number % 100)"
  }

  /// Decodes an untrusted block and returns the number of decoded bytes. Returns a negative number if the
  /// block is malformed or does not fit in `output`. Reads only the block and `output`, and writes only
  /// `output`.
  @inline(__always)
  static func decode(_ block: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
    Int(
      unsafe LZ4_decompress_safe(
        block.baseAddress, output.baseAddress, Int32(block.count), Int32(output.count)))
  }

  /// Decodes an untrusted block that was encoded with a dictionary, and also reads the dictionary. Decoding
  /// is fastest if the dictionary directly precedes `output`.
  @inline(__always)
  static func decode(
    _ block: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
    dictionary: UnsafeRawBufferPointer
  ) -> Int {
    Int(
      unsafe LZ4_decompress_safe_usingDict(
        block.baseAddress, output.baseAddress, Int32(block.count), Int32(output.count),
        dictionary.baseAddress, Int32(dictionary.count)))
  }

  /// Encodes `input` and returns the size of the block, or 0 if the block does not fit in `output`.
  static func encode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
    Int(
      unsafe LZ4_compress_default(
        input.baseAddress, output.baseAddress, Int32(input.count), Int32(output.count)))
  }
}

/// Encodes blocks, each against one dictionary alone. For use by one thread.
///
/// LZ4 needs a hash table of the dictionary. Building this table takes much longer than encoding a short
/// block. It is therefore built once, and each block starts from a copy of LZ4's state with this table. The
/// state contains no pointer into itself, so its bytes can be copied.
@safe
struct LZ4DictionaryEncoder: ~Copyable {
  /// A copy of the dictionary, owned by this encoder. LZ4's state points into it as long as the state is
  /// used.
  private let dictionary: UnsafeMutableRawBufferPointer
  /// The LZ4 state with the loaded dictionary, owned by this encoder. This state never changes; each block is
  /// encoded with `working`, a copy of it.
  private let prepared: UnsafeMutablePointer<LZ4_stream_t>
  private let working: UnsafeMutablePointer<LZ4_stream_t>
  private let stateBytes = Int(LZ4_sizeofState())

  init(_ bytes: [UInt8]) {
    unsafe dictionary = .allocate(byteCount: max(1, bytes.count), alignment: 16)
    unsafe dictionary.copyBytes(from: bytes)
    unsafe prepared = Self.makeState(stateBytes)
    unsafe working = Self.makeState(stateBytes)
    _ = unsafe LZ4_loadDict(prepared, dictionary.baseAddress, Int32(bytes.count))
  }

  private static func makeState(_ stateBytes: Int) -> UnsafeMutablePointer<LZ4_stream_t> {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: stateBytes, alignment: 16)
    guard let state = unsafe LZ4_initStream(memory, stateBytes) else {
      preconditionFailure("memory of the size that lz4 asks for suffices for its state")
    }
    return unsafe state
  }

  deinit {
    unsafe UnsafeMutableRawPointer(working).deallocate()
    unsafe UnsafeMutableRawPointer(prepared).deallocate()
    unsafe dictionary.deallocate()
  }

  /// Encodes `input` and returns the size of the block, or 0 if the block does not fit in `output`.
  func encode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
    unsafe UnsafeMutableRawPointer(working).copyMemory(from: prepared, byteCount: stateBytes)
    return Int(
      unsafe LZ4_compress_fast_continue(
        working, input.baseAddress, output.baseAddress, Int32(input.count), Int32(output.count), 1))
  }
}

#else

internal import CPortableLZ4

/// The functions are documented above.
enum LZ4Block {
  static var version: String {
    let number = dugout_lz4_version()
    return "\(number / 10_000).\(number / 100 % 100).\(number % 100) portable"
  }

  @inline(__always)
  static func decode(_ block: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
    unsafe dugout_lz4_decode(block.baseAddress, block.count, output.baseAddress, output.count)
  }

  @inline(__always)
  static func decode(
    _ block: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer,
    dictionary: UnsafeRawBufferPointer
  ) -> Int {
    unsafe dugout_lz4_decode_with_dictionary(
      block.baseAddress, block.count, output.baseAddress, output.count, dictionary.baseAddress,
      dictionary.count)
  }

  static func encode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
    Int(unsafe dugout_lz4_encode(input.baseAddress, input.count, output.baseAddress, output.count))
  }
}

/// Encodes blocks, each against one dictionary alone. The hash table of the dictionary is built once.
@safe
struct LZ4DictionaryEncoder: ~Copyable {
  /// A copy of the dictionary, owned by this encoder. `prepared` points into it.
  private let dictionary: UnsafeMutableRawBufferPointer
  private let prepared: UnsafeMutablePointer<dugout_lz4_dictionary>

  init(_ bytes: [UInt8]) {
    unsafe dictionary = .allocate(byteCount: max(1, bytes.count), alignment: 16)
    unsafe dictionary.copyBytes(from: bytes)
    unsafe prepared = .allocate(capacity: 1)
    unsafe dugout_lz4_prepare(prepared, dictionary.baseAddress, bytes.count)
  }

  deinit {
    unsafe prepared.deallocate()
    unsafe dictionary.deallocate()
  }

  func encode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
    Int(
      unsafe dugout_lz4_encode_with_dictionary(
        prepared, input.baseAddress, input.count, output.baseAddress, output.count))
  }
}

#endif
