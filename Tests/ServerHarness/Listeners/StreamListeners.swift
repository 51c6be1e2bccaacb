// Listeners by gRPC, many on one connection.

#if Server
import ByteStore
import FirestoreWire
import Harness

/// One listener, over streams one after the other. Usable from any thread.
private final class StreamListener: Sendable {
  private struct State {
    var watch = SequenceWatch(documents: ListenerOptions.documents)
    var sent: [Int64] = []
    var number = 0
    var stream: GRPCStream?
  }

  private let place: Int
  private let board: ListenerBoard
  private let collection: Int
  private let state = Locked(State())

  init(_ place: Int, _ board: ListenerBoard) {
    self.place = place
    self.board = board
    collection = board.collection(of: place)
  }

  func begin(_ client: FirestoreClient) {
    board.noteBegin(place)
    let (number, token) = state.withLock { state in
      state.number += 1
      state.sent = []
      state.watch.begin()
      return (state.number, state.watch.token)
    }
    let stream = client.open("Listen") { [self] bytes in
      receive(bytes, of: number)
    } onEnd: { [self] end in
      if state.withLock({ $0.number == number }) { fail("\(end)") }
    }
    state.withLock { $0.stream = stream }
    do {
      stream.send(try FirestoreClient.bytes(try client.database.listenRequest(collection, token: token)))
    } catch {
      fail("\(error)")
    }
  }

  /// Resets the stream.
  func leave() {
    let stream = state.withLock { state in
      state.number += 1
      return state.stream.take()
    }
    stream?.cancel()
  }

  private func receive(_ bytes: [UInt8], of number: Int) {
    do {
      let response: Wire.ListenResponse = try FirestoreClient.message(bytes)
      try state.withLock { state in
        guard state.number == number else { return }
        for _ in 0..<board.copies(of: response, for: place) { try take(response, &state) }
      }
    } catch {
      fail("\(error)")
    }
  }

  private func take(_ response: Wire.ListenResponse, _ state: inout State) throws(Violation) {
    switch try state.watch.take(response) {
    case .nothing: break
    case .change(let time): state.sent.append(time)
    case .snapshot:
      board.noteSnapshot(place, state.watch.last, sent: state.sent)
      state.sent.removeAll(keepingCapacity: true)
    }
  }

  private func fail(_ text: String) {
    board.fail("listener \(place) by gRPC, of changes-\(collection): \(text)")
    leave()
  }
}

/// Listeners with consecutive numbers. Used by one thread.
final class StreamListeners {
  private let range: Range<Int>
  private let board: ListenerBoard
  private var connections: [FirestoreClient]
  private var listeners: [StreamListener]

  init(_ range: Range<Int>, _ target: AbuseTarget, _ board: ListenerBoard) throws {
    self.range = range
    self.board = board
    let count =
      (range.count + ListenerOptions.streamsPerConnection - 1) / ListenerOptions.streamsPerConnection
    connections = try (0..<count).map { _ in try target.client() }
    listeners = range.map { StreamListener($0, board) }
  }

  func begin(_ listener: Int) {
    let place = listener - range.lowerBound
    listeners[place].begin(connections[place % connections.count])
  }

  func reconnect(_ listener: Int) {
    board.noteReconnect()
    leave(listener)
    begin(listener)
  }

  func leave(_ listener: Int) { listeners[listener - range.lowerBound].leave() }

  /// Closes the connections, after the listeners have left.
  func close() {
    for connection in connections { connection.close() }
    // A connection keeps its socket until it is released.
    (listeners, connections) = ([], [])
  }
}
#endif
