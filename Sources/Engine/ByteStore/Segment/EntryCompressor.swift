// Compresses the entries of a segment one by one, so that a read decompresses only one entry.
//
// A compressed entry is one LZ4 block. The block contains neither its own size nor the uncompressed size. The
// caller stores both sizes.

/// Compresses entries, each against the dictionary alone. For use by one thread.
@safe
struct EntryCompressor: ~Copyable {
  private let encoder: LZ4DictionaryEncoder
  /// The output buffer of LZ4, owned by this compressor. It is needed because the compressed size is not
  /// known in advance.
  private var output: UnsafeMutableRawBufferPointer

  init(_ dictionary: EntryDictionary) {
    encoder = LZ4DictionaryEncoder(dictionary.bytes)
    unsafe output = .allocate(byteCount: 4096, alignment: 16)
  }

  deinit { unsafe output.deallocate() }

  /// Appends the compressed form of `raw` to `bytes` and returns true. Appends nothing and returns false if
  /// the compressed form would not be shorter, or if `raw` is larger than a read allows.
  mutating func compress(_ raw: RawSpan, into bytes: inout [UInt8]) -> Bool {
    guard (2...ReadBuffer.rawBytesMax).contains(raw.byteCount) else { return false }
    makeRoom(for: raw.byteCount)
    // The block must be at least one byte shorter than the input.
    let room = unsafe UnsafeMutableRawBufferPointer(rebasing: output[..<(raw.byteCount - 1)])
    let count = unsafe raw.withUnsafeBytes { unsafe encoder.encode($0, into: room) }
    unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: output[..<count]))
    return count > 0
  }

  private mutating func makeRoom(for outputBytes: Int) {
    guard unsafe outputBytes > output.count else { return }
    let larger = unsafe max(outputBytes, 2 * output.count)
    unsafe output.deallocate()
    unsafe output = .allocate(byteCount: larger, alignment: 16)
  }
}
