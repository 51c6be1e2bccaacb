// Compressing the entries of a segment, each on its own, so that a read decodes one entry and no more.
//
// A compressed entry is one LZ4 block. Neither its size nor that of the entry is in it: whoever stores it
// keeps both.

internal import CLZ4

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Compresses one entry after the other against one dictionary. For one thread.
///
/// LZ4 needs a table of the dictionary's bytes, which takes many times as long to make as an entry takes to
/// compress. So it is made once, and every entry starts from a copy of it. The state that LZ4 keeps holds no
/// pointer into itself, so that its bytes can be copied.
@safe
struct EntryCompressor: ~Copyable {
  /// Owned; LZ4's state points into it for as long as it is used.
  private let dictionary: UnsafeMutableRawBufferPointer
  /// Owned: the state of LZ4 with the dictionary, never changed, and the one that an entry uses up.
  private let prepared: UnsafeMutablePointer<LZ4_stream_t>
  private let working: UnsafeMutablePointer<LZ4_stream_t>
  private let stateBytes = Int(LZ4_sizeofState())
  /// Owned: where LZ4 puts the compressed form, before it is known how long that is.
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
      preconditionFailure("memory of the size that lz4 asks for does for its state")
    }
    return unsafe state
  }

  deinit {
    unsafe UnsafeMutableRawPointer(working).deallocate()
    unsafe UnsafeMutableRawPointer(prepared).deallocate()
    unsafe output.deallocate()
    unsafe dictionary.deallocate()
  }

  /// Appends the compressed form to `bytes` and returns true; or appends nothing and returns false if that
  /// would not be shorter, or if `raw` is longer than what a read accepts.
  mutating func compress(_ raw: RawSpan, into bytes: inout [UInt8]) -> Bool {
    guard (2...ReadBuffer.rawBytesMax).contains(raw.byteCount) else { return false }
    makeRoom(for: raw.byteCount)
    unsafe memcpy(working, prepared, stateBytes)
    // Zero if it does not fit one byte less than there are.
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
