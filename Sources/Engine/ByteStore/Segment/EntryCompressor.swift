// Compresses the entries of a segment one by one, so that a read decompresses only one entry.
//
// A compressed entry is one LZ4 block. The block contains neither its own size nor the uncompressed size. The
// caller stores both sizes.

internal import CLZ4
import Libc

/// Compresses entries, each against the dictionary alone. For use by one thread.
///
/// LZ4 needs a hash table of the dictionary. Building this table takes much longer than compressing an entry.
/// It is therefore built once, and each entry starts from a copy of LZ4's state with this table. The state
/// contains no pointer into itself, so its bytes can be copied.
@safe
struct EntryCompressor: ~Copyable {
  /// A copy of the dictionary, owned by this compressor. LZ4's state points into it as long as the state is
  /// used.
  private let dictionary: UnsafeMutableRawBufferPointer
  /// The LZ4 state with the loaded dictionary, owned by this compressor. This state never changes; each entry
  /// is compressed with `working`, a copy of it.
  private let prepared: UnsafeMutablePointer<LZ4_stream_t>
  private let working: UnsafeMutablePointer<LZ4_stream_t>
  private let stateBytes = Int(LZ4_sizeofState())
  /// The output buffer of LZ4, owned by this compressor. It is needed because the compressed size is not
  /// known in advance.
  private var output: UnsafeMutableRawBufferPointer

  init(_ dictionary: EntryDictionary) {
    unsafe self.dictionary = .allocate(byteCount: max(1, dictionary.bytes.count), alignment: 16)
    unsafe self.dictionary.copyBytes(from: dictionary.bytes)
    unsafe output = .allocate(byteCount: 4096, alignment: 16)
    unsafe prepared = Self.makeState(stateBytes)
    unsafe working = Self.makeState(stateBytes)
    _ = unsafe LZ4_loadDict(prepared, self.dictionary.baseAddress, Int32(dictionary.bytes.count))
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
    unsafe output.deallocate()
    unsafe dictionary.deallocate()
  }

  /// Appends the compressed form of `raw` to `bytes` and returns true. Appends nothing and returns false if
  /// the compressed form would not be shorter, or if `raw` is larger than a read allows.
  mutating func compress(_ raw: RawSpan, into bytes: inout [UInt8]) -> Bool {
    guard (2...ReadBuffer.rawBytesMax).contains(raw.byteCount) else { return false }
    makeRoom(for: raw.byteCount)
    unsafe memcpy(working, prepared, stateBytes)
    // LZ4 returns 0 if the result is not at least one byte shorter than the input.
    let count = unsafe raw.withUnsafeBytes { raw in
      unsafe LZ4_compress_fast_continue(
        working, raw.baseAddress, output.baseAddress, Int32(raw.count), Int32(raw.count - 1), 1)
    }
    unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: output[..<Int(count)]))
    return count > 0
  }

  private mutating func makeRoom(for outputBytes: Int) {
    guard unsafe outputBytes > output.count else { return }
    let larger = unsafe max(outputBytes, 2 * output.count)
    unsafe output.deallocate()
    unsafe output = .allocate(byteCount: larger, alignment: 16)
  }
}
