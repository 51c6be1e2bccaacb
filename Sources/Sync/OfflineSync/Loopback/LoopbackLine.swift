// One direction of a connection: messages arrive in their order, after some time, or not at all.

/// Touched on its scheduler alone.
final class LoopbackLine<Message: Sendable>: @unchecked Sendable {
  // See above: everything happens on the scheduler, one thing after the other.
  private let scheduler: any SyncScheduler
  private let receive: @Sendable (Message) -> Void
  private var underWay: [Message] = []
  private var isClosed = false

  init(_ scheduler: any SyncScheduler, _ receive: @escaping @Sendable (Message) -> Void) {
    self.scheduler = scheduler
    self.receive = receive
  }

  func send(
    _ message: Message, after latency: Int64, _ canPass: ((Message) -> Bool)? = nil, place: UInt64 = 0
  ) {
    var index = underWay.count
    if let canPass {
      // It may overtake those that it can pass.
      var room: UInt64 = 0
      while index > 0, room < place, canPass(underWay[index - 1]) {
        index -= 1
        room += 1
      }
    }
    underWay.insert(message, at: index)
    scheduler.run(after: latency) { [self] in arrive() }
  }

  private func arrive() {
    // One that took long holds up those behind it: each arrival takes the first.
    guard !isClosed, !underWay.isEmpty else { return }
    receive(underWay.removeFirst())
  }

  func close() {
    isClosed = true
    underWay = []
  }
}
