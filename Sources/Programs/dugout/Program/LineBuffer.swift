// Lines out of pieces, as they come from a file or a pipe: a line is handed out as soon as its end is there.

struct LineBuffer {
  enum Step {
    /// Without the byte that ends it; `byteCount` with it.
    case line(ArraySlice<UInt8>, byteCount: Int)
    /// No line is whole yet.
    case needsMore
    /// The line is longer than it may be.
    case tooLong
    case end
  }

  private let lineBytesMax: Int
  /// What came; before `start`, it was handed out, and before `searched`, no line ends behind that.
  private var bytes: [UInt8] = []
  private var start = 0
  private var searched = 0
  private var isAtEnd = false

  init(lineBytesMax: Int) { self.lineBytesMax = lineBytesMax }

  /// How much is in memory.
  var bytesHeld: Int { bytes.count }

  mutating func next() -> Step {
    // No byte is looked at twice, however long a line is.
    if let end = bytes[searched...].firstIndex(of: 0x0A) { return take(upTo: end, of: end + 1) }
    searched = bytes.count
    if isAtEnd { return start < bytes.count ? take(upTo: bytes.count, of: bytes.count) : .end }
    return bytes.count - start <= lineBytesMax ? .needsMore : .tooLong
  }

  private mutating func take(upTo end: Int, of next: Int) -> Step {
    defer { (start, searched) = (next, next) }
    return .line(bytes[start..<end], byteCount: next - start)
  }

  /// What was asked for; nothing is the end.
  mutating func append(_ piece: some Collection<UInt8>) {
    bytes.removeSubrange(..<start)
    (start, searched) = (0, bytes.count)
    if piece.isEmpty { isAtEnd = true } else { bytes.append(contentsOf: piece) }
  }
}
