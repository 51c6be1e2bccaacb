// A transport and a scheduler without sockets and without a clock. A script decides what happens next.

import ByteStore
import Dispatch
import FirestoreRemote
import HTTPClient
import OfflineSync

/// The requests of a client, and its timers. Used on one thread.
final class ScriptedNetwork: WebTransport, SyncScheduler, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: one thread runs the client and the script.
  final class Exchange: WebExchange, @unchecked Sendable {
    // Why `@unchecked Sendable` is correct: see the network.
    let request: WebRequest
    fileprivate(set) var handler: (@Sendable (WebEvent) -> Void)?

    init(_ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void) {
      self.request = request
      self.handler = handler
    }

    func cancel() { handler = nil }
  }

  private var tasks: [@Sendable () -> Void] = []
  private var timers: [(time: Int64, body: @Sendable () -> Void)] = []
  private var time: Int64 = 0
  private(set) var requests: [WebRequest] = []
  private var exchanges: [Exchange] = []

  /// The requests that have no end yet.
  var open: [Exchange] {
    exchanges.removeAll { $0.handler == nil }
    return exchanges
  }

  func begin(
    _ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void
  ) -> any WebExchange {
    let exchange = Exchange(request, handler)
    requests.append(request)
    exchanges.append(exchange)
    return exchange
  }

  /// Delivers an event of a request.
  func deliver(_ event: WebEvent, of exchange: Exchange) {
    let handler = exchange.handler
    if case .ended = event { exchange.handler = nil }
    handler?(event)
    runTasks()
  }

  // MARK: The scheduler

  var isCurrent: Bool { true }
  var simulation: (any Simulation)? { nil }
  func now() -> Int64 { time }
  func run(_ body: @escaping @Sendable () -> Void) { tasks.append(body) }
  func run(after microseconds: Int64, _ body: @escaping @Sendable () -> Void) {
    timers.append((time + microseconds, body))
  }

  func runTasks() {
    while !tasks.isEmpty { tasks.removeFirst()() }
  }

  /// Passes the time to the next timer. Returns false if there is none.
  @discardableResult
  func passTime() -> Bool {
    guard let next = timers.indices.min(by: { timers[$0].time < timers[$1].time }) else { return false }
    let timer = timers.remove(at: next)
    time = max(time, timer.time)
    timer.body()
    runTasks()
    return true
  }
}
