// A transport to a server that can be killed, stopped and out of reach, in virtual time.
//
//   running       requests arrive, and are answered
//   killed        the connections are reset, and new ones are refused
//   stopped       the system takes connections and requests, and the process answers when it runs again
//   unreachable   connections are silent for good, and new ones are not made

#if Server
import HTTPClient
import Harness
import OfflineSync

/// Used on the one thread of its scheduler.
final class OutageNetwork: WebTransport, @unchecked Sendable {
  // The conformance is unchecked, because all calls come from the thread that plays the scheduler.
  enum Condition: Hashable, CaseIterable { case running, killed, stopped, unreachable }

  private static let delayMax: Int64 = 50_000
  /// The time after which the system gives up a connection that is not made.
  private static let connectTime: Int64 = 10_000_000
  private static let tickTime: Int64 = 250_000

  private final class Exchange: WebExchange, @unchecked Sendable {
    // The conformance is unchecked for the same reason.
    let number: UInt64
    let request: WebRequest
    var handler: (@Sendable (WebEvent) -> Void)?
    var lastByte: Int64
    /// When the last event arrives, because events arrive in order.
    var arrival: Int64 = 0
    /// Whether the connection is silent for good.
    var isDead = false
    private weak var network: OutageNetwork?

    init(
      _ number: UInt64, _ request: WebRequest, _ network: OutageNetwork,
      _ handler: @escaping @Sendable (WebEvent) -> Void
    ) {
      self.number = number
      self.request = request
      self.network = network
      self.handler = handler
      lastByte = network.scheduler.now()
    }

    func cancel() {
      guard handler != nil else { return }
      handler = nil
      network?.lose(self)
    }
  }

  let scheduler: VirtualScheduler
  private let server: OutageServer
  private var random: SeededRandom
  private var exchanges: [UInt64: Exchange] = [:]
  /// Requests that a stopped process has not read.
  private var unread: [Exchange] = []
  private var lastNumber: UInt64 = 0
  private(set) var condition = Condition.running

  init(_ server: OutageServer, on scheduler: VirtualScheduler, seed: UInt64) {
    self.server = server
    self.scheduler = scheduler
    random = SeededRandom(seed: seed)
    tick()
  }

  /// Lets the server's own time limits pass.
  private func tick() {
    if condition != .killed, condition != .stopped { perform(server.passTime()) }
    scheduler.run(after: Self.tickTime) { [weak self] in self?.tick() }
  }

  private func delay() -> Int64 { 1 + Int64(random.below(Int(Self.delayMax))) }

  // MARK: Conditions

  func change(to next: Condition) {
    let before = condition
    condition = next
    switch next {
    case .running where before == .stopped:
      perform(server.sendDocument())
      let waiting = unread
      unread = []
      for exchange in waiting { arrive(exchange) }
    case .running, .stopped: break
    case .unreachable: for exchange in exchanges.values { exchange.isDead = true }
    case .killed:
      server.restart()
      unread = []
      for exchange in sorted where !exchange.isDead { fail(exchange, after: delay(), "reset") }
    }
  }

  /// Changes the document of the server, which tells its targets as soon as it runs.
  func changeDocument() {
    server.change()
    if condition == .running || condition == .unreachable { perform(server.sendDocument()) }
  }

  private func perform(_ effects: [SimulatedServer.Effect]) {
    for effect in effects {
      switch effect {
      case .head(let number, let status): send(.head(status: status, fields: [:]), of: number)
      case .bytes(let number, let bytes): send(.bytes(bytes), of: number)
      case .end(let number): send(.ended(nil), of: number)
      case .askWhenRead(let number):
        scheduler.run(after: delay()) { [weak self] in
          guard let self, condition == .running else { return }
          perform(server.noteRead(number))
        }
      }
    }
  }

  private var sorted: [Exchange] { exchanges.values.sorted { $0.number < $1.number } }

  // MARK: Requests

  func begin(_ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void) -> any WebExchange {
    lastNumber += 1
    let exchange = Exchange(lastNumber, request, self, handler)
    exchanges[lastNumber] = exchange
    watchSilence(of: exchange)
    switch condition {
    case .running, .stopped:
      scheduler.run(after: delay()) { [weak self] in self?.arrive(exchange) }
    case .killed: fail(exchange, after: delay(), "refused", isUnsent: true)
    case .unreachable:
      exchange.isDead = true
      // The request may have a connection of an earlier one.
      if random.oneIn(2) { fail(exchange, after: Self.connectTime, "not connected", isUnsent: true) }
    }
    return exchange
  }

  private func arrive(_ exchange: Exchange) {
    guard exchange.handler != nil, !exchange.isDead else { return }
    switch condition {
    case .running: perform(server.take(exchange.number, exchange.request))
    case .stopped: unread.append(exchange)
    case .unreachable: exchange.isDead = true
    case .killed: fail(exchange, after: delay(), "reset")
    }
  }

  private func send(_ event: WebEvent, of number: UInt64) {
    guard let exchange = exchanges[number], !exchange.isDead else { return }
    exchange.arrival = max(scheduler.now() + delay(), exchange.arrival + 1)
    scheduler.run(after: exchange.arrival - scheduler.now()) { [weak self] in
      guard let self, !exchange.isDead else { return }
      exchange.lastByte = scheduler.now()
      deliver(event, to: exchange)
    }
  }

  private func fail(_ exchange: Exchange, after delay: Int64, _ message: String, isUnsent: Bool = false) {
    scheduler.run(after: delay) { [weak self] in
      self?.deliver(.ended(WebFailure(message, isUnsent: isUnsent)), to: exchange)
    }
  }

  private func deliver(_ event: WebEvent, to exchange: Exchange) {
    let handler = exchange.handler
    if case .ended = event {
      exchange.handler = nil
      exchanges[exchange.number] = nil
    }
    handler?(event)
  }

  private func lose(_ exchange: Exchange) {
    exchanges[exchange.number] = nil
    guard condition == .running, !exchange.isDead else { return }
    scheduler.run(after: delay()) { [weak self] in
      guard let self, condition == .running else { return }
      perform(server.lose(exchange.number))
    }
  }

  /// Ends a request after its time without a byte.
  private func watchSilence(of exchange: Exchange) {
    let end = exchange.lastByte + Int64(exchange.request.silenceSeconds * 1_000_000)
    scheduler.run(after: max(0, end - scheduler.now())) { [weak self] in
      guard let self, exchange.handler != nil else { return }
      if exchange.lastByte + Int64(exchange.request.silenceSeconds * 1_000_000) <= scheduler.now() {
        deliver(.ended(WebFailure("silent")), to: exchange)
      } else {
        watchSilence(of: exchange)
      }
    }
  }
}
#endif
