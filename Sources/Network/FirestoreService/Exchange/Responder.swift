// Delivers the events of one call, and none after its end.

internal import ByteStore
internal import FirestoreWire
internal import OfflineSync

/// The end of a call at which its answer leaves. Usable from any thread; the caller keeps events in order.
final class Responder: Sendable {
  private let respond: @Sendable (ServiceEvent) -> Void
  let format: WireFormat
  let waits = CallWaits()
  private let state = Locked(State())

  private struct State {
    var isOver = false
    /// Whether a message is being delivered. The end follows it, so that events come one at a time.
    var isSending = false
    var end: RemoteError??
  }

  init(_ format: WireFormat, _ respond: @escaping @Sendable (ServiceEvent) -> Void) {
    self.format = format
    self.respond = respond
  }

  /// Whether the call has ended or was cancelled. Work for it is then in vain.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Sends a message, unless the call is over. Returns whether it was sent.
  @discardableResult func send(_ message: some WireMessage) throws(RemoteError) -> Bool {
    guard !isOver else { return false }
    let bytes = try format.encode(message)
    let isOpen = state.withLock { state in
      state.isSending = !state.isOver
      return state.isSending
    }
    guard isOpen else { return false }
    respond(.message(bytes))
    let end = state.withLock { state in
      state.isSending = false
      return state.end.take()
    }
    if let end { respond(.ended(end)) }
    return true
  }

  /// The maximum size of a message of an error. It travels in the headers of an answer, where each byte may
  /// take three.
  static let errorBytesMax = 4096

  /// Ends the call. Does nothing if it is over.
  func end(_ error: RemoteError? = nil) {
    let shown = error.map { RemoteError($0.code, shortened($0.message, bytesMax: Self.errorBytesMax)) }
    let (wasOver, isSending) = state.withLock { state in
      defer { state.isOver = true }
      if !state.isOver, state.isSending { state.end = .some(shown) }
      return (state.isOver, state.isSending)
    }
    guard !wasOver else { return }
    waits.endAll()
    if !isSending { respond(.ended(shown)) }
  }

  /// Stops all events, and ends the waits of the call. Returns whether the call was over.
  @discardableResult func cancel() -> Bool {
    let wasOver = state.withLock { state in
      defer { state.isOver = true }
      return state.isOver
    }
    if !wasOver { waits.endAll() }
    return wasOver
  }
}
