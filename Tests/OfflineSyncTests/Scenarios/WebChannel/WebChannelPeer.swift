// The other end of a client of WebChannel, as Google's servers are: it answers at once, and a scenario says
// what it sends.

import HTTPClient
import OfflineSync

/// A service whose calls a peer carries. Used on one thread.
protocol PeerService: AnyObject {
  /// A client has opened a call.
  func opened(_ session: PeerSession) throws(ScenarioFailure)
  /// A client has sent a message in JSON.
  func take(_ message: [UInt8], of session: PeerSession) throws(ScenarioFailure)
  /// A client has ended a call that was open.
  func terminated(_ session: PeerSession)
}

final class WebChannelPeer: WebTransport, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: one thread runs the client and the scenario.
  private let scheduler: any SyncScheduler
  weak var service: (any PeerService)?
  private var sessions: [String: PeerSession] = [:]
  /// The reason why the first request was refused that breaks a rule.
  private(set) var fault: ScenarioFailure?

  init(_ scheduler: any SyncScheduler) { self.scheduler = scheduler }

  /// The sessions that neither side has ended.
  var open: [PeerSession] { sessions.values.filter { !$0.isOver } }

  func begin(_ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void) -> any WebExchange {
    let exchange = PeerExchange(scheduler, handler)
    scheduler.run { [self] in take(request, exchange) }
    return exchange
  }

  private func take(_ request: WebRequest, _ exchange: PeerExchange) {
    do throws(ScenarioFailure) {
      try answer(try PeerRequest(request), exchange)
    } catch {
      fault = fault ?? error
      exchange.answer(
        status: 400, #"{"error":{"code":400,"message":"\#(error.what)","status":"INVALID_ARGUMENT"}}"#)
    }
  }

  private func answer(_ request: PeerRequest, _ exchange: PeerExchange) throws(ScenarioFailure) {
    guard request.kind != .opening else { return try open(request, exchange) }
    guard let session = request.session.flatMap({ sessions[$0] }), session.method == request.method else {
      throw ScenarioFailure("there is no session \(request.session ?? "")")
    }
    try session.take(request)
    switch request.kind {
    case .opening: break
    case .forward:
      let messages = try session.messages(of: request)
      exchange.answer(session.status)
      try pass(messages, of: session)
    case .back: try session.hold(exchange, after: try request.number("AID"))
    case .termination:
      if !session.isOver {
        session.terminate()
        service?.terminated(session)
      }
      exchange.answer("")
    }
  }

  private func open(_ request: PeerRequest, _ exchange: PeerExchange) throws(ScenarioFailure) {
    let session = try PeerSession(request, number: sessions.count + 1)
    let messages = try session.messages(of: request)
    sessions[session.id] = session
    exchange.answer(fields: ["x-http-session-id": session.httpSession], session.greeting)
    try service?.opened(session)
    try pass(messages, of: session)
  }

  private func pass(_ messages: [[UInt8]], of session: PeerSession) throws(ScenarioFailure) {
    for message in messages where !session.isOver { try service?.take(message, of: session) }
  }
}
