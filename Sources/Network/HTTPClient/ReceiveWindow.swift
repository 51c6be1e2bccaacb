// Flow control of an answer: the bytes that its receiver has not taken yet.

/// Counts what has been delivered and not been taken. A full window pauses the transfer, and a window that is
/// half empty resumes it.
struct ReceiveWindow {
  /// Large enough that a receiver which keeps up never pauses: a fast connection fills it in 10 milliseconds.
  /// Small enough for the few answers that a client has open on a phone.
  static let bytesMax = 1 << 20
  /// A piece also takes memory for its event. A server may send pieces of one byte.
  static let pieceBytes = 256

  private var held = 0
  private var isPaused = false

  /// Adds a piece. Returns false if the window is full, which leaves the piece out and pauses.
  mutating func admit(_ byteCount: Int) -> Bool {
    isPaused = held >= Self.bytesMax
    if !isPaused { held += byteCount + Self.pieceBytes }
    return !isPaused
  }

  /// Removes a piece. Returns true if the transfer has to be resumed.
  mutating func take(_ byteCount: Int) -> Bool {
    held = max(0, held - byteCount - Self.pieceBytes)
    guard isPaused, held <= Self.bytesMax / 2 else { return false }
    isPaused = false
    return true
  }
}
