// One connection of a simulated network.
//
//   client.send → sending → deliver → received → server.receive
//
// The other direction is the same.
//
// The rules are those of TCP as Linux has them. A side that closes with unread bytes resets the connection,
// and so does a closed side to which bytes arrive. A reset can overtake bytes and destroy them.

/// One direction of a connection.
struct SimulatedPipe {
  /// Bytes that were sent, and have not arrived.
  var sending = ByteQueue()
  /// Bytes that have arrived, and were not read.
  var received = ByteQueue()
  let sendMax: Int
  let receiveMax: Int
  /// Whether the sender sends no more.
  var isEnded = false
  var hasEndArrived = false

  var room: Int { max(0, sendMax - sending.count) }

  var canDeliver: Bool {
    sending.isEmpty ? isEnded && !hasEndArrived : received.count < receiveMax
  }
}

/// A connection with both of its ends.
package final class SimulatedLink {
  enum Reset {
    case none
    case inFlight
    case arrived
  }

  enum Reading {
    case bytes([UInt8])
    case nothing
    case end
    case reset
  }

  let number: Int
  let peer: String
  var toServer: SimulatedPipe
  var toClient: SimulatedPipe
  /// A reset that the client causes, as the server sees it, and the other way round.
  var resetOfServer = Reset.none
  var resetOfClient = Reset.none
  /// Whether a call of the server has returned the reset as an error.
  var isResetReported = false
  private(set) var isClosedByServer = false
  private(set) var isClosedByClient = false
  /// Nothing is delivered before this time.
  var heldUntil: UInt64 = 0
  var stallsLeft = 3
  /// The last time at which the server has received bytes, and at which it has sent some.
  var lastReceived: UInt64 = 0
  var lastSent: UInt64 = 0
  /// The bytes that the server has sent.
  var sentCount = 0

  init(_ number: Int, peer: String, bufferBytes: (Int, Int)) {
    self.number = number
    self.peer = peer
    toServer = SimulatedPipe(sendMax: bufferBytes.0, receiveMax: bufferBytes.1)
    toClient = SimulatedPipe(sendMax: bufferBytes.1, receiveMax: bufferBytes.0)
  }

  // MARK: The way

  func canDeliver(at now: UInt64) -> Bool {
    guard now >= heldUntil else { return false }
    return resetOfServer == .inFlight || resetOfClient == .inFlight || toServer.canDeliver
      || toClient.canDeliver
  }

  /// Delivers some bytes, an end or a reset.
  func deliver(_ random: inout SeededRandom) {
    var ways: [(inout SeededRandom) -> Void] = []
    if resetOfServer == .inFlight { ways.append(deliverResetOfServer) }
    if resetOfClient == .inFlight { ways.append(deliverResetOfClient) }
    if toServer.canDeliver { ways.append(deliverToServer) }
    if toClient.canDeliver { ways.append(deliverToClient) }
    guard !ways.isEmpty else { return }
    ways[random.below(ways.count)](&random)
  }

  private func deliverToServer(_ random: inout SeededRandom) {
    guard !isClosedByServer, resetOfServer != .arrived else {
      if !toServer.sending.isEmpty, resetOfClient == .none { resetOfClient = .inFlight }
      return drop(\.toServer)
    }
    Self.deliver(&toServer, &random)
  }

  private func deliverToClient(_ random: inout SeededRandom) {
    guard !isClosedByClient, resetOfClient != .arrived else {
      if !toClient.sending.isEmpty, resetOfServer == .none { resetOfServer = .inFlight }
      return drop(\.toClient)
    }
    Self.deliver(&toClient, &random)
  }

  private func drop(_ pipe: ReferenceWritableKeyPath<SimulatedLink, SimulatedPipe>) {
    self[keyPath: pipe].sending.removeAll()
    self[keyPath: pipe].hasEndArrived = self[keyPath: pipe].isEnded
  }

  private static func deliver(_ pipe: inout SimulatedPipe, _ random: inout SeededRandom) {
    guard !pipe.sending.isEmpty else {
      pipe.hasEndArrived = true
      return
    }
    let most = min(pipe.sending.count, pipe.receiveMax - pipe.received.count)
    pipe.received.append(pipe.sending.take(random.oneIn(3) ? 1 + random.below(most) : most))
  }

  private func deliverResetOfServer(_ random: inout SeededRandom) {
    resetOfServer = .arrived
    toClient.sending.removeAll()
    toServer.sending.removeAll()
    if random.oneIn(2) { toServer.received.removeAll() }
  }

  private func deliverResetOfClient(_ random: inout SeededRandom) {
    resetOfClient = .arrived
    toServer.sending.removeAll()
    toClient.sending.removeAll()
    if random.oneIn(2) { toClient.received.removeAll() }
  }

  // MARK: The client's end

  /// Sends as many of the bytes as there is room for, and returns their number.
  func clientSend(_ bytes: ArraySlice<UInt8>) -> Int {
    guard resetOfClient != .arrived, !isClosedByClient, !toServer.isEnded else { return bytes.count }
    let count = min(bytes.count, toServer.room)
    toServer.sending.append(bytes.prefix(count))
    return count
  }

  var clientCanRead: Bool {
    !toClient.received.isEmpty || toClient.hasEndArrived || resetOfClient == .arrived
  }

  func clientReceive(_ countMax: Int) -> Reading {
    guard toClient.received.isEmpty else {
      return .bytes(toClient.received.take(min(countMax, toClient.received.count)))
    }
    if resetOfClient == .arrived { return .reset }
    return toClient.hasEndArrived ? .end : .nothing
  }

  func clientFinish() { toServer.isEnded = true }

  func clientClose(resets: Bool) {
    guard !isClosedByClient else { return }
    isClosedByClient = true
    toServer.isEnded = true
    guard resets || !toClient.received.isEmpty else { return }
    if resets { toServer.sending.removeAll() }
    if resetOfServer == .none { resetOfServer = .inFlight }
  }

  // MARK: The server's end

  var serverCanRead: Bool {
    !toServer.received.isEmpty || toServer.hasEndArrived || resetOfServer == .arrived
  }

  var serverCanWrite: Bool { toClient.room > 0 || resetOfServer == .arrived || toClient.isEnded }

  var hasFailedForServer: Bool { resetOfServer == .arrived || toServer.hasEndArrived && toClient.isEnded }

  func serverClose() {
    isClosedByServer = true
    toClient.isEnded = true
    guard !toServer.received.isEmpty, resetOfClient == .none, resetOfServer != .arrived else { return }
    toClient.sending.removeAll()
    resetOfClient = .inFlight
  }
}
