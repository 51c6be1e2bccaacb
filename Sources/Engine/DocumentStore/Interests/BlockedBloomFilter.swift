// A blocked Bloom filter: no false negatives, one cache line per probe.

/// A Bloom filter over hashes.
final class BlockedBloomFilter {
  /// Unretained access to the filter's words. The owner of this view must keep the filter alive.
  @safe
  struct View {
    fileprivate let words: UnsafeMutablePointer<UInt64>
    fileprivate let mask: Int

    @inline(__always)
    func mayContain(_ hash: UInt64) -> Bool {
      let bits = BlockedBloomFilter.bits(of: hash)
      // The mask keeps the index within bounds.
      return unsafe words[place(of: hash)] & bits == bits
    }

    @inline(__always)
    fileprivate func place(of hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 32) & mask }
  }

  private static let bitsPerElement = 16

  let view: View
  private var room: Int

  init(capacity: Int) {
    var size = 8
    while size < capacity { size *= 2 }
    room = size
    let count = size * Self.bitsPerElement / UInt64.bitWidth
    let words = UnsafeMutablePointer<UInt64>.allocate(capacity: count)
    unsafe words.initialize(repeating: 0, count: count)
    view = unsafe View(words: words, mask: count - 1)
  }

  deinit { unsafe view.words.deallocate() }

  /// Adds a hash. Returns false if the filter is full.
  func insert(_ hash: UInt64) -> Bool {
    if view.mayContain(hash) { return true }
    guard room > 0 else { return false }
    room -= 1
    unsafe view.words[view.place(of: hash)] |= Self.bits(of: hash)
    return true
  }

  /// A mask with the three bits of a hash, or fewer if the bit positions coincide.
  @inline(__always)
  private static func bits(of hash: UInt64) -> UInt64 {
    1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63)
  }
}
