// Bytes that wait to be sent.

/// A queue of bytes. Large pieces are kept as they are, so that they are copied once.
struct HTTP1Output {
  /// Pieces up to this size are copied behind the one before.
  private static let joinedBytesMax = 4096

  private var pieces: [[UInt8]] = []
  /// The first piece that has not been sent completely.
  private var first = 0
  /// The bytes of that piece that have been sent.
  private var start = 0
  private(set) var byteCount = 0

  mutating func append(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    byteCount += bytes.count
    if let last = pieces.last, last.count + bytes.count <= Self.joinedBytesMax {
      pieces[pieces.count - 1] += bytes
    } else {
      pieces.append(bytes)
    }
  }

  /// Moves up to this number of bytes to the end of a buffer.
  mutating func move(to buffer: inout [UInt8], bytesMax: Int) {
    var room = bytesMax
    while room > 0, first < pieces.count {
      let count = min(room, pieces[first].count - start)
      buffer += pieces[first][start..<start + count]
      room -= count
      byteCount -= count
      start += count
      guard start == pieces[first].count else { break }
      pieces[first] = []
      first += 1
      start = 0
    }
    guard byteCount == 0 else { return removeSentPieces() }
    self = HTTP1Output()
  }

  private mutating func removeSentPieces() {
    guard first > 32, first > pieces.count / 2 else { return }
    pieces.removeFirst(first)
    first = 0
  }
}
