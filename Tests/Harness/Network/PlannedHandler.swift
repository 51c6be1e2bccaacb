// The application of a simulated server. It answers as planned, and checks the calls that it gets.
//
//   begin (receive)* finish?      then `cancel` at most once, and nothing after it

import HTTPTransport

final class PlannedHandler: HTTPHandler, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: a simulation has one thread.

  /// A request that has begun.
  final class Record {
    let plan: RequestPlan
    let begun: UInt64
    let link: SimulatedLink?
    var bodyCount = 0
    var isFinished = false
    var isCancelled = false
    /// Whether the application has ended its answer, or has given it up.
    var isAnswered = false
    var isAborted = false
    /// The bytes of the answer that were given to the transport.
    var sentCount = 0
    /// The transport's reference to the request. Nil when it was released.
    weak var receiver: (any HTTPBodyReceiver)?

    init(_ plan: RequestPlan, begun: UInt64, link: SimulatedLink?) {
      self.plan = plan
      self.link = link
      self.begun = begun
    }
  }

  private let network: SimulatedNetwork
  private let limits: HTTPLimits
  private var plans: [Int: RequestPlan] = [:]
  private(set) var records: [Int: Record] = [:]
  /// Whether the server drains, so that no request may begin.
  var mustBeIdle = false
  /// Requests that no client has planned, made of bytes that were cut or changed.
  private(set) var unplannedCount = 0

  init(_ network: SimulatedNetwork, limits: HTTPLimits) {
    self.network = network
    self.limits = limits
  }

  func add(_ plan: RequestPlan) { plans[plan.id] = plan }

  func begin(_ request: HTTPRequest, _ response: HTTPResponse) -> any HTTPBodyReceiver {
    // A request of HTTP/2 can have begun to arrive.
    if mustBeIdle, request.connection.version == 1 {
      network.violate("the request \(request.target) begins in a drain")
    }
    guard let id = RequestPlan.id(of: request.target), let plan = plans[id] else {
      unplannedCount += 1
      response.answer(404, HTTPFields(), body: Array("not planned".utf8))
      return UnplannedRequest()
    }
    network.note(.begin, -1, id)
    if records[id] != nil { network.violate("request \(id) begins twice") }
    let record = Record(plan, begun: network.now, link: network.link(of: request.connection.peer))
    records[id] = record
    guard plan.isCall else {
      let receiver = PlannedRequest(record, .response(response), network, pauseBytes: limits.pauseBytes)
      record.receiver = receiver
      receiver.begin()
      return receiver
    }
    let handler = CallStart { [network, limits] answer in
      PlannedRequest(record, .call(answer, response), network, pauseBytes: limits.pauseBytes)
    }
    let exchange = GRPCExchange(request, response, handler: handler, limits: limits)
    record.receiver = exchange
    return exchange
  }

  /// Whether no request waits for the application: all are answered or cancelled, except those that are never
  /// answered.
  var isQuiet: Bool {
    records.values.allSatisfy { $0.isAnswered || $0.isCancelled || $0.plan.answer == .never }
  }

  /// The first fault of the requests when all connections are closed.
  var finalViolation: String? {
    for id in records.keys.sorted() {
      guard let record = records[id] else { continue }
      if !record.isAnswered, !record.isCancelled { return "request \(id) has no end" }
      if record.receiver != nil { return "request \(id) was not released" }
    }
    return nil
  }

  private final class UnplannedRequest: HTTPBodyReceiver {
    func receive(_ bytes: ArraySlice<UInt8>) {}
    func finish() {}
    func cancel() {}
  }

  private final class CallStart: GRPCHandler, @unchecked Sendable {
    private let make: (GRPCAnswer) -> PlannedRequest

    init(_ make: @escaping (GRPCAnswer) -> PlannedRequest) { self.make = make }

    func begin(_ call: GRPCRequest, _ answer: GRPCAnswer) -> any GRPCReceiver {
      let receiver = make(answer)
      receiver.begin()
      return receiver
    }
  }
}
