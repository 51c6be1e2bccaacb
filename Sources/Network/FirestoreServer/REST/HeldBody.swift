// The body of a request, as long as it is incomplete.

internal import HTTPTransport
internal import OfflineSync

/// Collects a body within the limits of its size and of the memory of its connection.
struct HeldBody {
  /// The limit that a body exceeds.
  struct Excess {
    let refusal: Refusal
    let error: RemoteError
    /// The HTTP status, if it is not that of the error.
    var status: Int? { refusal == .messageSize ? 413 : nil }
  }

  /// The characters for one byte of a form that is percent-encoded.
  private static let encodedBytesMax = 3

  private let bytesMax: Int
  private let isForm: Bool
  /// The bytes of a form that decoding removes.
  private var removedCount = 0
  private let share: HeldMemoryShare
  private(set) var bytes: [UInt8] = []
  private(set) var isOver = false

  /// Creates an empty body. A form has this maximum of bytes after decoding.
  init(of budget: HeldMemory, bytesMax: Int, isForm: Bool = false) {
    share = HeldMemoryShare(of: budget)
    self.bytesMax = bytesMax
    self.isForm = isForm
  }

  /// Notes the fields of the request. Returns the limit that the announced length exceeds.
  mutating func announce(_ request: HTTPRequest) -> Excess? {
    guard let length = request.fields["content-length"].flatMap({ Int($0) }), !isOver,
      (isForm ? length / Self.encodedBytesMax : length) > bytesMax
    else { return nil }
    return tooLong()
  }

  /// Adds bytes. Returns the limit that they exceed, once; all further bytes are then ignored.
  mutating func add(_ more: ArraySlice<UInt8>) -> Excess? {
    guard !isOver else { return nil }
    let count = bytes.count + more.count
    if isForm { removedCount += 2 * more.count { $0 == UInt8(ascii: "%") } }
    guard count - removedCount <= bytesMax, count / Self.encodedBytesMax <= bytesMax else { return tooLong() }
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

  private mutating func tooLong() -> Excess {
    drop()
    return Excess(
      refusal: .messageSize,
      error: RemoteError(.resourceExhausted, "The body has more than \(bytesMax) bytes."))
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
