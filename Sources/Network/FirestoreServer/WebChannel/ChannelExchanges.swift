// The requests that open sessions, and those that send to them.

internal import ByteStore
internal import FirestoreService
internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync

/// The answer to a request that opens a session.
struct ChannelReply: Sendable {
  let surroundings: ChannelSurroundings
  let record: RequestRecord
  let response: HTTPResponse
  let fields: AnswerFields

  init(
    _ surroundings: ChannelSurroundings, _ record: RequestRecord, response: HTTPResponse, origin: String?
  ) {
    self.surroundings = surroundings
    self.record = record
    self.response = response
    fields = AnswerFields(origin: origin, requestID: record.id)
  }
}

/// Opens a session. Credentials are checked as soon as they arrive, so that no stranger sends a large body.
final class OpenExchange: ChannelExchange {
  private struct State {
    /// Whether the credentials have been checked, or are not needed.
    var isKnown = false
    var search = HeaderSearch()
    var isLost = false
    /// The session, until the client has its answer.
    weak var channel: ServedChannel?
  }

  /// The versions of the protocol and of the server, and the time of keep-alives, which older clients do not
  /// know.
  private static let versions = "8,12"

  private let request: HTTPRequest
  private let method: ServerMethod
  private let opening: ChannelTarget.Opening
  private let reply: ChannelReply
  private let state = Locked(State())

  init(
    _ request: HTTPRequest, _ method: ServerMethod, opening: ChannelTarget.Opening, reply: ChannelReply
  ) {
    self.request = request
    self.method = method
    self.opening = opening
    self.reply = reply
  }

  private var runner: CallRunner { reply.surroundings.runner }

  func refuse(_ error: RemoteError, status: Int?) {
    reply.response.answer(error, reply.fields, record: reply.record, status: status)
  }

  /// The client is gone, and does not know of the session if there is one.
  func cancel() {
    let channel = state.withLock { state in
      state.isLost = true
      return state.channel
    }
    channel?.abandon()
    reply.record.end(code: RemoteError.Code.cancelled.rawValue)
  }

  // MARK: Credentials

  /// Checks the credentials that come before the body, if there are any.
  func checkFields() throws(RemoteError) {
    let lists = try listsBeforeBody()
    guard !runner.credentials.areNeeded || lists.contains(where: Credentials.areNamed) else { return }
    _ = try caller(lists)
    state.withLock { $0.isKnown = true }
  }

  func peek(_ body: [UInt8]) throws(RemoteError) {
    let (isKnown, list) = try state.withLock { state throws(RemoteError) in
      (state.isKnown, state.isKnown ? nil : try state.search.list(in: body))
    }
    guard !isKnown else { return }
    if let list {
      _ = try caller([try HTTPFields(headerList: list)])
      state.withLock { $0.isKnown = true }
    } else if body.count > HeaderSearch.bytesMax {
      _ = try caller([])
    }
  }

  /// The fields of the request and those in its target.
  private func listsBeforeBody() throws(RemoteError) -> [HTTPFields] {
    var lists = [request.fields]
    if let list = opening.headers { lists.append(try HTTPFields(headerList: list)) }
    return lists
  }

  private func caller(_ lists: [HTTPFields]) throws(RemoteError) -> Caller {
    do throws(RemoteError) { return try runner.credentials.caller(ofLists: lists) } catch {
      runner.journal.refused(.credentials, request.connection)
      throw error
    }
  }

  // MARK: The session

  func take(_ body: [UInt8]) {
    do throws(RemoteError) {
      let form = try FormBody(body)
      var lists = try listsBeforeBody()
      if let list = form.headers { lists.append(try HTTPFields(headerList: list)) }
      let caller = try caller(lists)
      guard !runner.streams.isDraining else {
        runner.journal.metrics.refused(.draining)
        throw CallRunner.draining
      }
      let metadata = runner.metadata(caller, request.connection)
      let admitted = ChannelOpening(
        method: method, form: form, metadata: metadata, connection: request.connection)
      if let refusal = reply.surroundings.channels.admit(ChannelOwner(request.connection)) {
        runner.journal.refused(refusal, request.connection)
        throw RemoteError(.resourceExhausted, "Too many sessions of WebChannel are open.")
      }
      runner.note(opening.database.flatMap { RequestPeek.database($0) }, in: reply.record)
      reply.response.onLoop { [self] in open(admitted) }
    } catch {
      refuse(error)
    }
  }

  private func open(_ opening: ChannelOpening) {
    guard !state.withLock({ $0.isLost }) else {
      return reply.surroundings.channels.release(ChannelOwner(opening.connection))
    }
    let channel = ServedChannel(
      opening, reply.surroundings, record: reply.record, response: reply.response)
    // A server that ends finds each session of its open streams.
    reply.surroundings.channels.add(channel)
    guard runner.streams.add(channel) else {
      reply.surroundings.channels.remove(channel)
      runner.journal.metrics.refused(.draining)
      return refuse(CallRunner.draining)
    }
    state.withLock { $0.channel = channel }
    answer(channel)
    channel.start(opening.form.requests)
  }

  private func answer(_ channel: ServedChannel) {
    var answer = ChannelResponse(response: reply.response, fields: reply.fields)
    if opening.wantsHTTPSessionID {
      answer.additional.append("x-http-session-id", reply.surroundings.makeID().text)
    }
    let keepAlive = reply.surroundings.limits.keepAliveNanoseconds / 1_000_000
    let versions = opening.knowsKeepAlive ? "\(Self.versions),\(keepAlive)" : Self.versions
    answer.answer(ChannelArrays.framed(#"[[0,["c","\#(channel.id.text)","",\#(versions)]]]"#))
  }
}

/// Sends requests to a session.
struct ForwardExchange: ChannelExchange {
  private let channel: ServedChannel
  private let number: UInt64
  private let acknowledged: UInt64?
  private let response: ChannelResponse
  private let request: RefusedRequest

  init(
    _ channel: ServedChannel, request number: UInt64, acknowledged: UInt64?, response: ChannelResponse,
    refused request: RefusedRequest
  ) {
    self.channel = channel
    self.number = number
    self.acknowledged = acknowledged
    self.response = response
    self.request = request
  }

  func refuse(_ error: RemoteError, status: Int?) { response.refuse(error, request, status: status) }

  func cancel() {}

  func take(_ body: [UInt8]) {
    do throws(RemoteError) {
      let form = try FormBody(body)
      channel.receive(
        .forward(request: number, form.requests, acknowledged: acknowledged), request: number,
        response: response)
    } catch {
      refuse(error)
    }
  }
}
