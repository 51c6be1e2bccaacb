// A connection of HTTP/1.1 for one request after the other, which is opened again when it is lost.

#if Server
import Harness

/// Sends requests as a browser does. Used on the loop.
final class ChannelConnection {
  /// The parts of an answer.
  enum Event {
    case head(status: Int)
    case body([UInt8])
    case end
    /// The connection was lost before the end of the answer.
    case lost
    case malformed(Violation)
  }

  private let loop: PollLoop
  private let port: Int
  private var socket: PolledSocket?
  private var reader = AnswerReader()
  private var handler: ((Event) -> Void)?

  init(_ loop: PollLoop, port: Int) {
    self.loop = loop
    self.port = port
  }

  /// Whether a request waits for the rest of its answer.
  var isBusy: Bool { handler != nil }

  /// Sends a request. There must be no other one.
  func send(
    _ method: String, _ target: String, body: [UInt8]? = nil, onEvent: @escaping (Event) -> Void
  ) {
    precondition(handler == nil, "a connection has one request at a time")
    handler = onEvent
    guard let socket = socket ?? connect() else { return finish(.lost) }
    var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
    if let body {
      head += "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(body.count)\r\n"
    }
    socket.send(Array((head + "\r\n").utf8) + (body ?? []))
  }

  /// Drops the request, with its connection if the answer has not ended.
  func cancel() {
    guard handler != nil else { return }
    handler = nil
    close()
  }

  func close() {
    handler = nil
    socket?.close(.reset)
    socket = nil
  }

  private func connect() -> PolledSocket? {
    guard let socket = PolledSocket(port: port, on: loop) else { return nil }
    reader = AnswerReader()
    socket.onBytes = { [weak self] in self?.receive($0) }
    socket.onEnd = { [weak self] in self?.lost() }
    self.socket = socket
    return socket
  }

  private func receive(_ bytes: ArraySlice<UInt8>) {
    do {
      for event in try reader.take(bytes) {
        switch event {
        case .head(let status, _): handler?(.head(status: status))
        case .body(let bytes): handler?(.body(bytes))
        case .end(let isLast):
          if isLast { dropSocket() }
          finish(.end)
        }
      }
    } catch {
      dropSocket()
      finish(.malformed(error))
    }
  }

  private func lost() {
    socket = nil
    finish(reader.endsWithConnection ? .end : .lost)
  }

  private func dropSocket() {
    socket?.close()
    socket = nil
  }

  private func finish(_ event: Event) {
    let handler = handler.take()
    handler?(event)
  }
}
#endif
