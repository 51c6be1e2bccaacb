// Bytes on their way, first in, first out.

/// A queue of bytes.
struct ByteQueue {
  private var bytes: [UInt8] = []
  private var start = 0

  var count: Int { bytes.count - start }
  var isEmpty: Bool { start == bytes.count }

  mutating func append(_ more: some Collection<UInt8>) { bytes += more }

  /// Removes the first bytes.
  mutating func take(_ count: Int) -> [UInt8] {
    let taken = Array(bytes[start..<start + count])
    start += count
    if start == bytes.count {
      removeAll()
    } else if start > 4096, start > bytes.count / 2 {
      bytes.removeFirst(start)
      start = 0
    }
    return taken
  }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    start = 0
  }
}
