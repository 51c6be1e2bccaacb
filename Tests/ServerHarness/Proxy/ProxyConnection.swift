// One connection of a client through the proxy, with its connection to the server.

#if Server
import Harness

/// Passes on one request after the other, each by its plan.
final class ProxyConnection {
  private let client: PolledSocket
  private unowned let proxy: FaultyProxy
  private var server: PolledSocket?
  private var serverPort = 0
  private var splitter = RequestSplitter()
  /// The request that is being answered.
  private var request: SplitRequest?
  private var waiting: [SplitRequest] = []
  private var plan = ProxyPlan()
  private var reader = AnswerReader()
  private var body: [UInt8] = []
  /// Bytes of the answer that the client was sent, and those that wait for the end of a stall.
  private var answerCount = 0
  private var held: [UInt8] = []
  private var isHolding = false
  private var isComplete = false
  private var isClosed = false
  private var cutTimer: PollLoop.Timer?

  init(_ client: PolledSocket, _ proxy: FaultyProxy) {
    self.client = client
    self.proxy = proxy
    client.onBytes = { [weak self] bytes in
      guard let self else { return }
      waiting += splitter.take(bytes)
      begin()
    }
    client.onEnd = { [weak self] in self?.cut(.finish) }
  }

  // MARK: Requests

  private func begin() {
    guard request == nil, !waiting.isEmpty, !isClosed else { return }
    let next = waiting.removeFirst()
    request = next
    plan = proxy.faults.plan(for: next)
    proxy.onEvent?("\(next.summary): \(plan.summary)")
    (answerCount, body, held, isHolding, isComplete) = (0, [], [], false, false)
    if let time = plan.duplicateAfter { proxy.duplicate(next, after: time) }
    if let time = plan.cutAfter {
      cutTimer = proxy.loop.after(milliseconds: time) { [weak self] in self?.cut() }
    }
    later(plan.delay) { [weak self] in self?.forward(next) }
  }

  private func forward(_ request: SplitRequest) {
    guard !isClosed else { return }
    guard let server = server ?? connect() else { return cut(.reset) }
    if let count = plan.cutRequestAfter {
      server.send(request.bytes.prefix(count))
      // What was sent arrives before the end of the connection.
      server.finish()
      self.server = nil
      return cut()
    }
    guard let (count, time) = plan.stallRequest else { return server.send(request.bytes) }
    server.send(request.bytes.prefix(count))
    later(time) { server.send(request.bytes.dropFirst(count)) }
  }

  private func connect() -> PolledSocket? {
    guard let socket = PolledSocket(port: proxy.upstreamPort, on: proxy.loop) else { return nil }
    reader = AnswerReader()
    serverPort = proxy.upstreamPort
    socket.onBytes = { [weak self] in self?.receive($0) }
    socket.onEnd = { [weak self] in self?.serverEnded() }
    server = socket
    return socket
  }

  private func later(_ milliseconds: Int, _ block: @escaping () -> Void) {
    if milliseconds > 0 { proxy.loop.after(milliseconds: milliseconds, block) } else { block() }
  }

  // MARK: Answers

  private func receive(_ bytes: ArraySlice<UInt8>) {
    guard let request else { return }
    do {
      for event in try reader.take(bytes) {
        switch event {
        case .head: break
        case .body(let piece): if request.opensSession { body += piece }
        case .end(let isLast): end(request, isLast: isLast)
        }
      }
    } catch {
      // The client finds what is wrong with the answer.
    }
    held += bytes
    pass()
  }

  private func end(_ request: SplitRequest, isLast: Bool) {
    proxy.note(body, of: request, port: serverPort)
    isComplete = true
    if isLast {
      server?.close()
      server = nil
    }
  }

  private func serverEnded() {
    server = nil
    if let request, !isComplete {
      proxy.note(body, of: request, port: serverPort)
      isComplete = true
    }
    // Bytes that are held reach the client before the end of the connection.
    pass()
    if request == nil || !isHolding { client.finish() }
  }

  /// Passes on what is held of the answer, as far as the plan allows.
  private func pass() {
    guard !isHolding, !isClosed else { return }
    var count = held.count
    if let cut = plan.cutAnswerAfter { count = min(count, max(0, cut - answerCount)) }
    if let (after, time) = plan.stallAnswer, answerCount + count >= after {
      count = min(count, max(0, after - answerCount))
      plan.stallAnswer = nil
      hold(time)
    } else if plan.trickles, count > 7 {
      count = 1 + (answerCount + count) % 7
      hold(1)
      // The rest goes in larger pieces, so that long answers do not take long.
      if answerCount > 40 { plan.trickles = false }
    }
    client.send(held.prefix(count))
    answerCount += count
    held.removeFirst(count)
    if let cut = plan.cutAnswerAfter, answerCount >= cut { return self.cut() }
    if isComplete, held.isEmpty, !isHolding { endExchange() }
  }

  private func hold(_ milliseconds: Int) {
    isHolding = true
    proxy.loop.after(milliseconds: milliseconds) { [weak self] in
      guard let self else { return }
      isHolding = false
      pass()
    }
  }

  private func endExchange() {
    cutTimer?.cancel()
    request = nil
    guard server != nil else { return client.finish() }
    begin()
  }

  // MARK: Ends

  private func cut() { cut(plan.closing) }

  /// Cuts both connections. The answer to a request that opens a session is read to its end, so that the test
  /// knows of the session.
  func cut(_ closing: PolledSocket.Closing) {
    guard !isClosed else { return }
    isClosed = true
    cutTimer?.cancel()
    client.close(closing)
    if let server, let request, request.opensSession, !isComplete {
      proxy.adopt(LoneExchange(server, reader, body: body, port: serverPort), of: request)
    } else {
      server?.close(closing)
    }
    server = nil
    proxy.remove(self)
  }
}
#endif
