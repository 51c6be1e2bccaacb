// One direction of a connection: messages arrive in order after a latency, until the connection breaks.

internal import OfflineSync

/// One direction of a connection. It is only accessed on its scheduler.
final class LoopbackLine<Message: Sendable>: @unchecked Sendable {
  // The conformance is unchecked, because all work runs on the serial scheduler.
  private let scheduler: any SyncScheduler
  private let receive: @Sendable (Message) -> Void
  private var inProgress: [Message] = []
  private var isClosed = false

  init(_ scheduler: any SyncScheduler, _ receive: @escaping @Sendable (Message) -> Void) {
    self.scheduler = scheduler
    self.receive = receive
  }

  func send(
    _ message: Message, after latency: Int64, _ canPass: ((Message) -> Bool)? = nil, place: UInt64 = 0
  ) {
    var index = inProgress.count
    if let canPass {
      // A message may overtake earlier ones that commute with it.
      var room: UInt64 = 0
      while index > 0, room < place, canPass(inProgress[index - 1]) {
        index -= 1
        room += 1
      }
    }
    inProgress.insert(message, at: index)
    scheduler.run(after: latency) { [self] in arrive() }
  }

  private func arrive() {
    // Each arrival delivers the first message, so a slow message delays the later ones.
    guard !isClosed, !inProgress.isEmpty else { return }
    receive(inProgress.removeFirst())
  }

  func close() {
    isClosed = true
    inProgress = []
  }
}
