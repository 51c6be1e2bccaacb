// Write streams, with several requests on their way. What the store has must be a prefix of what was sent.

#if Server
import ByteStore
package import DocumentStore
import FirestoreWire
import Harness

package final class WriteStreamLoad: ServedLoad {
  private static let windowMax = 8
  private static let logLength = 20

  package let name = "streams"
  package let collections = ["streams"]
  package let tally = LoadTally()
  private let streams: Locked<[NumberedWrites]>

  package init(streams: Int) {
    self.streams = Locked([NumberedWrites](repeating: NumberedWrites(), count: streams))
  }

  package func run(_ client: FirestoreClient, port: Int) async {
    await withTaskGroup(of: Void.self) { tasks in
      for number in streams.withLock({ $0.indices }) {
        tasks.addTask { [self] in await run(number, client) }
      }
    }
  }

  private struct Exchange {
    var stream: GRPCStream?
    /// Requests that have no answer yet, with the handshake first.
    var waiting: [Int] = []
    var token: [UInt8] = []
    var isOver = false
  }

  private func run(_ number: Int, _ client: FirestoreClient) async {
    let exchange = Locked(Exchange())
    let end = await withCheckedContinuation { continuation in
      let stream = client.open("Write") { [self] bytes in
        receive(bytes, number, client, exchange)
      } onEnd: { end in
        continuation.resume(returning: end)
      }
      var handshake = Wire.WriteRequest()
      handshake.database = client.database.text
      exchange.withLock { exchange in
        exchange.stream = stream
        exchange.waiting = [0]
        if let bytes = try? handshake.protobuf() { stream.send(bytes) }
      }
    }
    exchange.withLock { $0.isOver = true }
    // A request may have been executed, unless the server has not begun the stream.
    if end.outcome() == .notExecuted { return }
    _ = tally.note(end, of: "Write")
  }

  private func receive(
    _ bytes: [UInt8], _ number: Int, _ client: FirestoreClient, _ exchange: borrowing Locked<Exchange>
  ) {
    exchange.withLock { exchange in
      guard let answer = try? Wire.WriteResponse(protobuf: bytes), !exchange.waiting.isEmpty else {
        return tally.noteUnexpected("a write stream has an answer to no request")
      }
      exchange.token = answer.streamToken
      let answered = exchange.waiting.removeFirst()
      if answered > 0 {
        tally.acknowledge()
        streams.withLock { $0[number].acknowledge(answered) }
      }
      while exchange.waiting.count < Self.windowMax, !exchange.isOver {
        let next = streams.withLock { $0[number].begin() }
        var request = Wire.WriteRequest()
        request.streamToken = exchange.token
        guard let writes = try? client.writes(mutations(number, next)) else { return }
        request.writes = writes
        guard let bytes = try? request.protobuf() else { return }
        exchange.waiting.append(next)
        exchange.stream?.send(bytes)
      }
    }
  }

  // MARK: Documents

  private func mutations(_ stream: Int, _ number: Int) -> [Mutation] {
    let fields = StoredMap([("n", .integer(Int64(number)))])
    return [.set(last(stream), fields), .set(line(stream, number), fields)]
  }

  private func last(_ stream: Int) -> DocumentPath { FirestoreClient.path("streams", "\(stream)") }

  private func line(_ stream: Int, _ number: Int) -> DocumentPath {
    FirestoreClient.path("streams", "\(stream)-\(number % Self.logLength)")
  }

  package func judge(_ documents: [DocumentPath: StoredDocument]) throws {
    try streams.withLock { streams in
      for stream in streams.indices {
        let found = documents[last(stream)]?.number ?? 0
        try streams[stream].adopt(found, of: "stream \(stream)")
        for number in max(1, found - Self.logLength + 1)..<(found + 1) {
          let line = documents[line(stream, number)]?.number
          guard line == number else {
            throw Violation(
              "stream \(stream) is at \(found), and has \(line ?? 0) in the place of \(number)")
          }
        }
      }
    }
  }
}
#endif
