// Splits a stream of chunks into lines, each available as soon as its end has arrived.

struct LineBuffer {
  enum Step {
    /// A line without its final newline; `byteCount` includes the newline.
    case line(ArraySlice<UInt8>, byteCount: Int)
    /// No complete line is available.
    case needsMore
    /// The line exceeds the limit.
    case tooLong
    case end
  }

  private let lineBytesMax: Int
  /// The buffered bytes. Those before `start` have been returned, and there is no newline before `searched`.
  private var bytes: [UInt8] = []
  private var start = 0
  private var searched = 0
  private var isAtEnd = false

  init(lineBytesMax: Int) { self.lineBytesMax = lineBytesMax }

  /// The number of buffered bytes.
  var bytesHeld: Int { bytes.count }

  mutating func next() -> Step {
    // Each byte is examined once, however long a line is.
    if let end = bytes[searched...].firstIndex(of: 0x0A) { return take(upTo: end, of: end + 1) }
    searched = bytes.count
    if isAtEnd { return start < bytes.count ? take(upTo: bytes.count, of: bytes.count) : .end }
    return bytes.count - start <= lineBytesMax ? .needsMore : .tooLong
  }

  private mutating func take(upTo end: Int, of next: Int) -> Step {
    defer { (start, searched) = (next, next) }
    return .line(bytes[start..<end], byteCount: next - start)
  }

  /// Appends the requested bytes; an empty piece is the end of the input.
  mutating func append(_ piece: some Collection<UInt8>) {
    bytes.removeSubrange(..<start)
    (start, searched) = (0, bytes.count)
    if piece.isEmpty { isAtEnd = true } else { bytes.append(contentsOf: piece) }
  }
}
