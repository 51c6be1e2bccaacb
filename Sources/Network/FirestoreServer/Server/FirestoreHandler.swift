// The whole server without its sockets: from requests of HTTP to answers.
//
//   1. Host and origin are checked, before anything else.
//   2. The admin listener has its own paths.
//   3. A call of gRPC goes to `GRPCCalls`, a path of WebChannel to `ChannelRequests`, a path of the emulator
//      to `EmulatorRequests`, and a path of the REST API to `RESTRequests`.

internal import ByteStore
internal import FirestoreService
package import HTTPTransport
internal import OfflineSync

/// Answers all requests of a server. The first listener of the transport is the server's, and the second one
/// is the admin's.
package final class FirestoreHandler: HTTPHandler {
  static let adminListener = 1

  private let guards: [BrowserGuard]
  private let calls: GRPCCalls
  private let rest: RESTRequests
  private let channels: ChannelRequests
  private let emulator: EmulatorRequests?
  private let admin: AdminRequests
  private let limits: HTTPLimits
  let runner: CallRunner
  let journal: RequestJournal

  init(
    _ configuration: ServerConfiguration, _ databases: any DatabaseSource, journal: RequestJournal,
    limits: HTTPLimits = HTTPLimits(), channels: ChannelOptions = ChannelOptions()
  ) throws(ServerError) {
    let (address, adminAddress) = try configuration.check()
    guards = [
      try BrowserGuard(configuration, listeningOn: address, isBehindProxy: configuration.isBehindProxy),
      try BrowserGuard(configuration, listeningOn: adminAddress, isBehindProxy: false),
    ]
    self.limits = limits
    self.journal = journal
    runner = CallRunner(configuration, databases, journal: journal)
    calls = GRPCCalls(runner: runner)
    rest = RESTRequests(runner: runner, limits: limits)
    self.channels = ChannelRequests(
      surroundings: ChannelSurroundings(runner, channels), bodyBytesMax: limits.messageBytesMax)
    emulator = configuration.isEmulator ? EmulatorRequests(runner: runner) : nil
    admin = AdminRequests(runner: runner)
  }

  /// A page sees why its request is refused if it may see other answers.
  package func refusalFields(_ request: HTTPRequest) -> HTTPFields {
    let origin: String?
    do throws(BrowserGuard.Refusal) { origin = try browserGuard(of: request).check(request) } catch {
      origin = nil
    }
    return AnswerFields(origin: origin, requestID: journal.text(ofID: journal.nextID())).ofRefusal
  }

  private func browserGuard(of request: HTTPRequest) -> BrowserGuard {
    guards[request.connection.listener == Self.adminListener ? 1 : 0]
  }

  package func begin(_ request: HTTPRequest, _ response: HTTPResponse) -> any HTTPBodyReceiver {
    let isAdmin = request.connection.listener == Self.adminListener
    let origin: String?
    do throws(BrowserGuard.Refusal) {
      origin = try browserGuard(of: request).check(request)
    } catch {
      journal.refused(error.refusal, request.connection)
      let record = record(request, .unknown)
      let fields = AnswerFields(origin: nil, requestID: record.id)
      response.answer(RemoteError(.permissionDenied, error.message), fields, record: record)
      return AnsweredRequest()
    }
    if isAdmin { return admin.begin(request, response, origin: origin) }
    if GRPCExchange.accepts(request), request.method != "OPTIONS" {
      return GRPCExchange(request, response, handler: calls, limits: limits)
    }
    return begin(request, response, origin: origin)
  }

  /// Begins a request that is not gRPC.
  private func begin(
    _ request: HTTPRequest, _ response: HTTPResponse, origin: String?
  ) -> any HTTPBodyReceiver {
    if request.method == "OPTIONS" {
      let record = record(request, .preflight)
      record.end(nil)
      response.answer(204, AnswerFields(origin: origin, requestID: record.id).preflight(request), body: [])
      return AnsweredRequest()
    }
    if let method = ChannelTarget.method(of: request.target) {
      return channels.begin(request, response, method: method, origin: origin)
    }
    let isEmulator = emulator.map { $0.accepts(request) } ?? false
    let record = record(request, isEmulator ? .emulator : .unknown)
    let fields = AnswerFields(origin: origin, requestID: record.id)
    if isEmulator, let emulator { return emulator.begin(request, response, record: record, fields: fields) }
    guard request.target.utf8.starts(with: "/v1/".utf8) else {
      response.answer(RemoteError(.notFound, "Not Found"), fields, record: record)
      return AnsweredRequest()
    }
    return rest.begin(request, response, record: record, fields: fields)
  }

  /// Refuses new calls, and ends all streams.
  package func drain() {
    runner.streams.drain()
    runner.service.endLocks()
  }

  /// Waits until clients of WebChannel have the results of their writes, or for this time.
  func waitUntilDelivered(nanoseconds: UInt64) {
    let count = runner.streams.waitUntilDelivered(nanoseconds: nanoseconds)
    guard count > 0 else { return }
    journal.note(.warning, "undelivered", with: [("sessions", .integer(UInt64(count)))])
  }

  /// Ends the sessions of WebChannel, which outlive their connections. Called before the loops end.
  func endSessions() { channels.endAll() }

  private func record(_ request: HTTPRequest, _ method: ServerMethod) -> RequestRecord {
    RequestRecord(journal, request.connection, by: .rest, method: method)
  }
}
