// A stream's connection: the tokens, the channel, and its end.
//
//   1. The tokens are fetched. Messages that are sent meanwhile wait.
//   2. The channel is opened with the tokens, and the messages are sent.
//   3. The stream ends with the channel, with a message that breaks a rule, or after the app has another
//      token for its user. A stream that ends for another token has no error, so its client opens it again
//      at once.

internal import OfflineSync

/// It is only accessed on the scheduler of its remote.
final class StreamCall: @unchecked Sendable {
  // The conformance is unchecked, because all work runs on the serial scheduler.
  private let context: RemoteContext
  private let method: String
  private let user: String?
  private let taken: ([UInt8]) throws(RemoteError) -> Void
  private let renewed: (() -> Void)?
  private let ended: (RemoteError?) -> Void

  private var channel: (any MessageChannel)?
  private var waiting: [[UInt8]] = []
  private var tokens = RequestTokens()
  private var observer: Int?
  private(set) var isOver = false

  /// `taken` receives each message. `ended` is called once, unless the client closes the stream. `renewed` is
  /// called when the app has other tokens than the open channel, and has to end the stream. Without it, the
  /// stream ends at once.
  init(
    _ context: RemoteContext, _ method: String, as user: String?,
    taken: @escaping ([UInt8]) throws(RemoteError) -> Void, renewed: (() -> Void)? = nil,
    ended: @escaping (RemoteError?) -> Void
  ) {
    self.context = context
    self.method = method
    self.user = user
    self.taken = taken
    self.renewed = renewed
    self.ended = ended
  }

  func start() {
    guard !isOver else { return }
    context.credentials.tokens(for: user) { [weak self] answer in
      guard let self, !isOver else { return }
      switch answer {
      case .failure(let error): end(error)
      case .success(let tokens): open(tokens)
      }
    }
    guard !isOver else { return }
    observer = context.credentials.observe(user) { [weak self] in self?.tokensChanged() }
  }

  private func open(_ tokens: RequestTokens) {
    self.tokens = tokens
    let opened = context.channels.open(method, fields: context.head.fields(tokens)) {
      [weak self, scheduler = context.scheduler] event in
      scheduler.run { [weak self] in self?.receive(event) }
    }
    channel = opened
    for message in waiting { opened.send(message) }
    waiting = []
  }

  /// Ends the stream, now or later, if it is open with the previous tokens.
  private func tokensChanged() {
    guard channel != nil else { return }
    if let renewed { renewed() } else { end(nil) }
  }

  // MARK: Messages

  func send(_ message: [UInt8]) {
    guard !isOver else { return }
    if let channel { channel.send(message) } else { waiting.append(message) }
  }

  /// Holds back the messages of the server.
  func pause() { channel?.pause() }

  func resume() { channel?.resume() }

  private func receive(_ event: MessageEvent) {
    guard !isOver else { return }
    switch event {
    case .message(let bytes):
      do throws(RemoteError) { try taken(bytes) } catch { end(error) }
    case .closed(let error):
      if error?.code == .unauthenticated { context.credentials.refuse(tokens, of: user) }
      end(error)
    }
  }

  // MARK: The end

  /// Ends the stream, and reports the end.
  func end(_ error: RemoteError?) {
    guard !isOver else { return }
    close()
    ended(error)
  }

  /// Ends the stream without a report.
  func close() {
    isOver = true
    waiting = []
    channel?.close()
    channel = nil
    if let observer { context.credentials.removeObserver(observer) }
    observer = nil
  }
}
