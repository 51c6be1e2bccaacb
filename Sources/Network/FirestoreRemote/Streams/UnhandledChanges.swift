// Flow control of a watch stream: the messages that its client has not handled.

/// Counts the changes of a stream from their delivery until the client has handled them.
struct UnhandledChanges {
  /// A message of the server in JSON. The values that it becomes take a few times as much.
  static let bytesMax = 1 << 20
  /// The memory of a change beside its message.
  static let changeBytes = 256

  /// Sizes of handled changes that are kept, because the others move when they are removed.
  private static let handledMax = 4096

  private var isEnabled = false
  /// Whether the server is held back.
  private(set) var isFull = false
  private var byteCount = 0
  /// The sizes of the changes, oldest first, from `next` on.
  private var sizes: [Int] = []
  private var next = 0

  mutating func enable() { isEnabled = true }

  /// Adds a change with the bytes of its message. Returns true if the server has to be held back from here
  /// on.
  mutating func add(_ messageBytes: Int) -> Bool {
    guard isEnabled else { return false }
    sizes.append(messageBytes + Self.changeBytes)
    byteCount += messageBytes + Self.changeBytes
    guard !isFull, byteCount >= Self.bytesMax else { return false }
    isFull = true
    return true
  }

  /// Removes the oldest change. Returns true if the server may send again.
  mutating func removeFirst() -> Bool {
    guard next < sizes.count else { return false }
    byteCount -= sizes[next]
    next += 1
    if next == sizes.count || next == Self.handledMax {
      sizes.removeFirst(next)
      next = 0
    }
    guard isFull, byteCount <= Self.bytesMax / 2 else { return false }
    isFull = false
    return true
  }
}
