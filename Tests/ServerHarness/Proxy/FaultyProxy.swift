// A proxy between the clients of a test and a server: it cuts connections, delays, loses and repeats.
//
// A request reaches the server as a whole, as a prefix, or twice. An answer reaches the client as a whole, as
// a prefix, or not at all. The seed decides about each request in the order in which requests arrive.

#if Server
import Harness

/// Listens on a port of this machine. Used on the loop.
package final class FaultyProxy {
  let loop: PollLoop
  private(set) var upstreamPort: Int
  package var faults: ProxyFaults
  private let listener: PolledListener
  private var connections: [ObjectIdentifier: ProxyConnection] = [:]
  private var exchanges: [ObjectIdentifier: LoneExchange] = [:]
  /// The sessions that the server has opened, also if no client knows of them: their ids with their paths.
  package private(set) var sessions: [String: String] = [:]
  /// The sessions of servers before the present one.
  package private(set) var earlierSessions: [String: String] = [:]

  package init(loop: PollLoop, upstreamPort: Int, faults: ProxyFaults) throws {
    self.loop = loop
    self.upstreamPort = upstreamPort
    self.faults = faults
    listener = try PolledListener(on: loop)
    listener.onAccept = { [unowned self] socket in
      let connection = ProxyConnection(socket, self)
      connections[ObjectIdentifier(connection)] = connection
    }
  }

  package var port: Int { listener.port }

  /// Passes requests to another server from now on.
  package func moveUpstream(to port: Int) {
    upstreamPort = port
    earlierSessions.merge(sessions) { $1 }
    sessions = [:]
  }

  /// Called with a line for each request.
  package var onEvent: ((String) -> Void)?

  /// Whether all repeated requests have their answers.
  package var hasSentDuplicates: Bool { exchanges.isEmpty && waitingDuplicates == 0 }
  private var waitingDuplicates = 0

  /// Closes the proxy and all connections through it.
  package func close() {
    listener.close()
    cutAll()
  }

  /// A port at which nothing listens.
  package static let unreachablePort = 1

  /// Cuts all connections. Clients may open others.
  package func cutAll() {
    for connection in connections.values { connection.cut(.reset) }
    for exchange in exchanges.values { exchange.close() }
    (connections, exchanges) = ([:], [:])
  }

  func remove(_ connection: ProxyConnection) { connections[ObjectIdentifier(connection)] = nil }

  /// Sends a request on a connection of its own, and drops its answer.
  func duplicate(_ request: SplitRequest, after milliseconds: Int) {
    waitingDuplicates += 1
    loop.after(milliseconds: milliseconds) { [weak self] in
      guard let self else { return }
      waitingDuplicates -= 1
      guard let socket = PolledSocket(port: upstreamPort, on: loop) else { return }
      socket.send(request.bytes)
      adopt(LoneExchange(socket, AnswerReader(), body: [], port: upstreamPort), of: request)
    }
  }

  /// Reads an answer to its end, although no client waits for it.
  func adopt(_ exchange: LoneExchange, of request: SplitRequest) {
    exchanges[ObjectIdentifier(exchange)] = exchange
    exchange.begin { [weak self] exchange in
      self?.exchanges[ObjectIdentifier(exchange)] = nil
      self?.note(exchange.body, of: request, port: exchange.port)
    }
  }

  /// Notes the session that an answer of the server with this port opens.
  func note(_ body: [UInt8], of request: SplitRequest, port: Int) {
    guard request.opensSession, let path = request.target.split(separator: "?").first else { return }
    var reader = ChannelFrameReader()
    for frame in (try? reader.take(body)) ?? [] {
      for array in (try? ChannelArray.all(in: frame)) ?? [] {
        guard case .session(let id) = array.content else { continue }
        if port == upstreamPort { sessions[id] = String(path) } else { earlierSessions[id] = String(path) }
      }
    }
  }
}

extension SplitRequest {
  /// Whether the request opens a session of WebChannel.
  var opensSession: Bool { method == "POST" && !target.contains("SID=") }
}

/// A request whose answer concerns only the proxy.
final class LoneExchange {
  private let socket: PolledSocket
  private var reader: AnswerReader
  private(set) var body: [UInt8]
  /// The port of the server.
  let port: Int
  private var onEnd: ((LoneExchange) -> Void)?

  init(_ socket: PolledSocket, _ reader: AnswerReader, body: [UInt8], port: Int) {
    self.socket = socket
    self.reader = reader
    self.body = body
    self.port = port
  }

  /// Reads the answer, and calls this at its end.
  func begin(onEnd: @escaping (LoneExchange) -> Void) {
    self.onEnd = onEnd
    socket.isReading = true
    socket.onBytes = { [weak self] in self?.receive($0) }
    socket.onEnd = { [weak self] in self?.end() }
  }

  private func receive(_ bytes: ArraySlice<UInt8>) {
    guard let events = try? reader.take(bytes) else { return end() }
    for event in events {
      if case .body(let piece) = event { body += piece }
      if case .end = event { return end() }
    }
  }

  private func end() {
    close()
    onEnd.take()?(self)
  }

  func close() { socket.close(.reset) }
}
#endif
