// A call over WebChannel: it performs what its state machine decides.
//
// Everything runs on one serial scheduler. Bytes of an answer that the scheduler has not processed, or that
// arrive while the program takes no messages, hold back the rest of the answer. The client acknowledges an
// array after the program has returned from it.

internal import ByteStore
internal import HTTPClient
internal import OfflineSync

/// An open call. Usable from any thread. It stays open without a reference to it, until it is closed.
final class WebChannel: MessageChannel, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `client`, `exchanges` and `heldPieces` are only used on
  // `scheduler`.
  private let transport: any WebTransport
  private let scheduler: any SyncScheduler
  private let noteBuffering: @Sendable () -> Void
  private let handler: @Sendable (MessageEvent) -> Void
  private let isClosed = Locked(false)
  private var client: ChannelClient
  private var exchanges: [UInt64: any WebExchange] = [:]
  /// The pieces that hold back their answers while the program takes no messages; nil while it takes them.
  private var heldPieces: [(request: UInt64, byteCount: Int)]?

  init(
    _ client: ChannelClient, _ transport: any WebTransport, scheduler: any SyncScheduler,
    noteBuffering: @escaping @Sendable () -> Void, _ handler: @escaping @Sendable (MessageEvent) -> Void
  ) {
    self.client = client
    self.transport = transport
    self.scheduler = scheduler
    self.noteBuffering = noteBuffering
    self.handler = handler
  }

  func send(_ message: [UInt8]) {
    scheduler.run { [self] in handle(.send(message)) }
  }

  func close() {
    isClosed.withLock { $0 = true }
    scheduler.run { [self] in handle(.close) }
  }

  func pause() {
    scheduler.run { [self] in
      if heldPieces == nil { heldPieces = [] }
      handle(.pause)
    }
  }

  func resume() {
    scheduler.run { [self] in
      handle(.resume)
      let pieces = heldPieces ?? []
      heldPieces = nil
      for piece in pieces { exchanges[piece.request]?.taken(piece.byteCount) }
    }
  }

  private func handle(_ event: ClientEvent) {
    for action in client.receive(event) { perform(action) }
  }

  private func perform(_ action: ClientAction) {
    switch action {
    case .begin(let request, let content):
      exchanges[request] = transport.begin(content) { [self] event in
        scheduler.run { [self] in receive(event, of: request) }
      }
    case .cancel(let request): exchanges.removeValue(forKey: request)?.cancel()
    case .wake(let timer, let delay):
      scheduler.run(after: delay) { [self] in handle(.timer(timer)) }
    case .deliver(let event): if !isClosed.withLock({ $0 }) { handler(event) }
    case .noteBuffering: noteBuffering()
    }
  }

  private func receive(_ event: WebEvent, of request: UInt64) {
    if case .ended = event { exchanges[request] = nil }
    handle(.answer(request: request, event))
    // A request that has ended or was cancelled holds nothing back.
    guard case .bytes(let bytes) = event, let exchange = exchanges[request] else { return }
    if heldPieces == nil { exchange.taken(bytes.count) } else { heldPieces?.append((request, bytes.count)) }
  }
}
