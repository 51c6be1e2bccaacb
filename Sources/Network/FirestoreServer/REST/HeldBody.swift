// The body of a request, as long as it is incomplete.

internal import HTTPTransport
internal import OfflineSync

/// Collects a body within the limits of its size and of the memory of its connection.
struct HeldBody {
  /// The limit that a body exceeds.
  struct Excess {
    let refusal: Refusal
    let error: RemoteError
  }

  private let bytesMax: Int
  private let share: HeldMemoryShare
  private var bytes: [UInt8] = []
  private var isOver = false

  init(of budget: HeldMemory, bytesMax: Int) {
    share = HeldMemoryShare(of: budget)
    self.bytesMax = bytesMax
  }

  /// Adds bytes. Returns the limit that they exceed, once; all further bytes are then ignored.
  mutating func add(_ more: ArraySlice<UInt8>) -> Excess? {
    guard !isOver else { return nil }
    let count = bytes.count + more.count
    guard count <= bytesMax else {
      drop()
      return Excess(
        refusal: .messageSize,
        error: RemoteError(.resourceExhausted, "The body has more than \(bytesMax) bytes."))
    }
    guard share.resize(to: count) else {
      drop()
      return Excess(
        refusal: .heldBytes,
        error: RemoteError(
          .resourceExhausted, "The server holds too many requests that are not complete."))
    }
    bytes += more
    return nil
  }

  /// The complete body, once. Nil if it was given up. Its memory counts until the end of this value.
  mutating func take() -> [UInt8]? {
    guard !isOver else { return nil }
    isOver = true
    defer { bytes = [] }
    return bytes
  }

  /// Gives the body up.
  mutating func drop() {
    isOver = true
    bytes = []
    _ = share.resize(to: 0)
  }
}
