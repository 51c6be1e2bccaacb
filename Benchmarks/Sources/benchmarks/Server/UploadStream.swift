// Writes by a write stream.

#if Server
import Foundation
import GRPCClients

/// An open write stream. Tokens are left out, because the server needs none within a stream.
final class UploadStream {
  enum Requests {
    case grpc([[UInt8]])
    case webChannel([String])
  }

  private static let secondsMax = 60

  private let openRequests: Int
  private let answered: DispatchSemaphore
  private var client: GRPCClient?
  private var stream: GRPCStream?
  private var channel: ChannelStream?

  /// Requests in the form in which they are sent.
  static func requests(of way: StreamProtocol, _ batches: [[String]], mark: String) -> Requests {
    switch way {
    case .grpc: .grpc(batches.map { FirestoreMessages.writes($0, mark: mark) })
    case .webChannel:
      .webChannel(batches.map { ChannelStream.encoded(FirestoreMessages.writesJSON($0, mark: mark)) })
    }
  }

  init(_ way: StreamProtocol, _ port: Int, openRequests: Int) throws {
    self.openRequests = openRequests
    let answered = DispatchSemaphore(value: 0)
    self.answered = answered
    switch way {
    case .grpc:
      let client = try GRPCClient(rows: port)
      self.client = client
      let stream = client.open(FirestoreMessages.service + "Write") { _ in
        answered.signal()
      } onEnd: { end in
        if end.origin != .connection { Progress.say("a write stream ends with \(end)") }
      }
      self.stream = stream
      stream.send(WireBytes.field(1, FirestoreMessages.database))
    case .webChannel:
      let first = #"{"database":"\#(FirestoreMessages.database)"}"#
      channel = try ChannelStream(port, "Write", first) { array in
        if array.starts(with: Array(#"{"stream"#.utf8)) { answered.signal() }
      }
    }
    try waitForAnswer()
    // The requests that may be open before one is answered.
    for _ in 0..<openRequests { answered.signal() }
  }

  /// Sends requests, and waits for all answers.
  func send(_ requests: Requests) throws {
    switch requests {
    case .grpc(let messages):
      for message in messages {
        try waitForAnswer()
        stream?.send(message)
      }
    case .webChannel(let messages):
      for message in messages {
        try waitForAnswer()
        try channel?.send(encoded: message)
      }
    }
    for _ in 0..<openRequests { try waitForAnswer() }
  }

  private func waitForAnswer() throws {
    guard answered.wait(timeout: .now() + .seconds(Self.secondsMax)) == .success else {
      throw BenchmarkFailure("a request of a write stream has no answer after \(Self.secondsMax) s")
    }
  }

  var bytes: Int { (client?.bytesReceived ?? 0) + (client?.bytesSent ?? 0) + (channel?.bytes ?? 0) }

  func close() {
    client?.close()
    channel?.close()
  }
}
#endif
