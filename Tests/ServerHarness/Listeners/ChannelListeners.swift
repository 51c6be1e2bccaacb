// Listeners by WebChannel, many on one thread.

#if Server
import ByteStore
import FirestoreWire
import Foundation
import Harness

/// One listener, over sessions one after the other. Used on the loop.
private final class ChannelListener {
  private let place: Int
  private let target: AbuseTarget
  private let board: ListenerBoard
  private let loop: PollLoop
  private let collection: Int
  private var watch = SequenceWatch(documents: ListenerOptions.documents)
  private var sent: [Int64] = []
  private var client: WebChannelClient?
  private var sessions: UInt64 = 0
  private var kept: [WebChannelClient?] = []

  init(_ place: Int, _ target: AbuseTarget, _ board: ListenerBoard, _ loop: PollLoop) {
    self.place = place
    self.target = target
    self.board = board
    self.loop = loop
    collection = board.collection(of: place)
  }

  func begin() {
    board.noteBegin(place)
    watch.begin()
    sent = []
    sessions += 1
    var options = ChannelClientOptions(method: "Listen", database: target.database.text)
    options.seed = SeededRandom.seed(board.options.seed &+ UInt64(place), sessions)
    // A busy machine is no reason for a client to ask again.
    (options.answerMilliseconds, options.silenceMilliseconds) = (60_000, 60_000)
    let client = WebChannelClient(options, port: target.port, loop: loop)
    client.onMessage = { [unowned self] in receive($0) }
    client.onEnd = { [unowned self] in fail("\($0)") }
    self.client = client
    do { client.open([try target.database.listenRequest(collection, token: watch.token).json()]) } catch {
      fail("\(error)")
    }
  }

  /// Drops the back channel, and goes on in the same session.
  func cut() {
    board.noteReconnect()
    client?.dropBackChannel()
  }

  /// Goes on in a new session.
  func comeBack(isSilent: Bool) {
    board.noteReconnect()
    if board.options.fault == .keepsSessions {
      client?.onMessage = nil
      client?.onEnd = nil
      kept.append(client)
    } else {
      leave(isSilent: isSilent && board.options.abandons)
    }
    begin()
  }

  func leave(isSilent: Bool = false) {
    guard let client else { return }
    self.client = nil
    (client.onMessage, client.onEnd) = (nil, nil)
    // Before the first answer, there is no session to end.
    if isSilent || client.session == nil {
      board.noteAbandoned()
      return client.abandon()
    }
    board.noteLeaving(1)
    client.terminate()
    wait(for: client)
  }

  private func wait(for client: WebChannelClient) {
    guard !client.isTerminationAnswered else {
      client.abandon()
      return board.noteLeaving(-1)
    }
    loop.after(milliseconds: 10) { [self] in wait(for: client) }
  }

  private func receive(_ message: [UInt8]) {
    do {
      let response = try Wire.ListenResponse(json: message)
      for _ in 0..<board.copies(of: response, for: place) { try take(response) }
    } catch {
      fail("\(error)")
    }
  }

  private func take(_ response: Wire.ListenResponse) throws(Violation) {
    switch try watch.take(response) {
    case .nothing: break
    case .change(let time): sent.append(time)
    case .snapshot:
      board.noteSnapshot(place, watch.last, sent: sent)
      sent.removeAll(keepingCapacity: true)
    }
  }

  private func fail(_ text: String) {
    board.fail("listener \(place) by WebChannel, of changes-\(collection), after \(watch.last): \(text)")
    client?.abandon()
  }
}

/// Listeners with consecutive numbers on a thread of their own. Usable from any thread.
final class ChannelListeners: Sendable {
  private enum Command { case begin, cut, comeBack(isSilent: Bool), leave }

  private static let turnMilliseconds = 20

  private struct State {
    var commands: [(listener: Int, Command)] = []
    var isStopped = false
    var hasEnded = false
  }

  private let range: Range<Int>
  private let state = Locked(State())

  init(_ range: Range<Int>, _ target: AbuseTarget, _ board: ListenerBoard) {
    self.range = range
    Thread.detachNewThread { [self] in
      run(target, board)
      state.withLock { $0.hasEnded = true }
      state.wakeAll()
    }
  }

  func begin(_ listener: Int) { add(listener, .begin) }

  /// Reconnects a listener, in a way that follows from the number of the time.
  func reconnect(_ listener: Int, time: Int) {
    if (listener + time) % 2 == 0 { return add(listener, .cut) }
    add(listener, .comeBack(isSilent: (listener + time) / 2 % 8 == 0))
  }

  func leave(_ listener: Int) { add(listener, .leave) }

  /// Ends the thread. Sessions that have no end are left to the server.
  func stop() {
    state.withLock { $0.isStopped = true }
    state.withLock(when: { $0.hasEnded }) { _ in }
  }

  private func add(_ listener: Int, _ command: Command) {
    state.withLock { $0.commands.append((listener, command)) }
  }

  private func run(_ target: AbuseTarget, _ board: ListenerBoard) {
    let loop = PollLoop()
    let listeners = range.map { ChannelListener($0, target, board, loop) }
    var isStopped = false
    while !isStopped {
      _ = loop.run(seconds: Double(Self.turnMilliseconds) / 1000) { false }
      let (commands, stops) = state.withLock { state in
        defer { state.commands = [] }
        return (state.commands, state.isStopped)
      }
      isStopped = stops
      for (place, command) in commands {
        let listener = listeners[place - range.lowerBound]
        switch command {
        case .begin: listener.begin()
        case .cut: listener.cut()
        case .comeBack(let isSilent): listener.comeBack(isSilent: isSilent)
        case .leave: listener.leave()
        }
      }
    }
  }
}
#endif
