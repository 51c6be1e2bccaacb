// LZ4 compression of contents. Data that does not shrink, such as pictures and films, is stored uncompressed.

@safe
struct BlobCompressor: ~Copyable {
  /// The size of the sample that decides whether compression is worthwhile.
  private static let probeBytes = 16 << 10
  /// The number of chunks that are stored uncompressed after an incompressible sample.
  private static let chunksBetweenProbes = 15

  private var chunksToSkip = 0
  /// The output buffer for LZ4, owned by this instance. LZ4 needs a separate buffer, because the compressed
  /// size is not known in advance.
  private var output: UnsafeMutableRawBufferPointer

  init() { unsafe output = .allocate(byteCount: 64 << 10, alignment: 16) }

  deinit { unsafe output.deallocate() }

  /// Appends the compressed form of `raw` and returns true. If compression saves less than a sixteenth,
  /// appends nothing and returns false.
  mutating func compress(_ raw: RawSpan, into bytes: inout [UInt8]) -> Bool {
    guard raw.byteCount >= 64 else { return false }
    if chunksToSkip > 0 {
      chunksToSkip -= 1
      return false
    }
    if raw.byteCount > 2 * Self.probeBytes, attempt(raw.extracting(first: Self.probeBytes)) == nil {
      chunksToSkip = Self.chunksBetweenProbes
      return false
    }
    guard let count = attempt(raw) else { return false }
    unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: output[..<count]))
    return true
  }

  private mutating func attempt(_ raw: RawSpan) -> Int? {
    let limit = raw.byteCount - raw.byteCount / 16 - 1
    makeRoom(for: limit)
    let room = unsafe UnsafeMutableRawBufferPointer(rebasing: output[..<limit])
    let count = unsafe raw.withUnsafeBytes { unsafe LZ4Block.encode($0, into: room) }
    return count > 0 ? count : nil
  }

  private mutating func makeRoom(for count: Int) {
    guard unsafe count > output.count else { return }
    unsafe output.deallocate()
    unsafe output = .allocate(byteCount: max(count, BlobFormat.chunkBytes), alignment: 16)
  }
}

enum BlobDecompression {
  /// Decompresses `stored` into `target`. Returns false if `stored` is not an LZ4 block that decompresses to
  /// exactly the size of `target`.
  static func decompress(_ stored: RawSpan, into target: inout MutableRawSpan) -> Bool {
    let expected = target.byteCount
    let count = unsafe stored.withUnsafeBytes { stored in
      unsafe target.withUnsafeMutableBytes { unsafe LZ4Block.decode(stored, into: $0) }
    }
    return count == expected
  }
}
