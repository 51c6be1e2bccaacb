// The side of HTTP of WebChannel.

internal import ByteStore
internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync

/// Begins requests whose targets are of WebChannel. The id of a session is the right to use it, so only the
/// request that opens it has credentials.
struct ChannelRequests: Sendable {
  let surroundings: ChannelSurroundings
  let bodyBytesMax: Int

  private var runner: CallRunner { surroundings.runner }

  /// Ends all sessions.
  func endAll() { surroundings.channels.endAll() }

  /// Begins a request whose host and origin have been checked.
  func begin(
    _ request: HTTPRequest, _ response: HTTPResponse, method: ServerMethod, origin: String?
  ) -> any HTTPBodyReceiver {
    do throws(RemoteError) {
      switch try ChannelTarget(request.method, request.target).request {
      case .open(let opening):
        let record = RequestRecord(runner.journal, request.connection, by: .webChannel, method: method)
        let exchange = OpenExchange(
          request, method, opening: opening,
          reply: ChannelReply(surroundings, record, response: response, origin: origin))
        do throws(RemoteError) { try exchange.checkFields() } catch {
          exchange.refuse(error)
          return AnsweredRequest()
        }
        return ChannelBodyReceiver(request, response, for: exchange, bytesMax: bodyBytesMax)
      case .forward(let id, let acknowledged):
        let channel = try find(id, method)
        let exchange = ForwardExchange(
          channel, request: surroundings.channels.nextRequest(), acknowledged: acknowledged,
          response: answer(response, origin), refused: refused(request, method))
        return ChannelBodyReceiver(request, response, for: exchange, bytesMax: bodyBytesMax)
      case .backChannel(let id, let acknowledged, let mode):
        let channel = try find(id, method)
        let number = surroundings.channels.nextRequest()
        channel.receive(
          .backChannel(request: number, acknowledged: acknowledged, mode), request: number,
          response: answer(response, origin))
        return BackChannelReceiver(channel, request: number)
      case .terminate(let id):
        let channel = try find(id, method)
        let number = surroundings.channels.nextRequest()
        channel.receive(.terminate(request: number), request: number, response: answer(response, origin))
        return AnsweredRequest()
      }
    } catch {
      answer(response, origin).refuse(error, refused(request, method))
      return AnsweredRequest()
    }
  }

  private func find(_ id: ChannelID, _ method: ServerMethod) throws(RemoteError) -> ServedChannel {
    guard let channel = surroundings.channels.find(id, method) else { throw ChannelTarget.unknown }
    return channel
  }

  private func answer(_ response: HTTPResponse, _ origin: String?) -> ChannelResponse {
    let id = runner.journal.text(ofID: runner.journal.nextID())
    return ChannelResponse(response: response, fields: AnswerFields(origin: origin, requestID: id))
  }

  private func refused(_ request: HTTPRequest, _ method: ServerMethod) -> RefusedRequest {
    RefusedRequest(journal: runner.journal, connection: request.connection, method: method)
  }
}

/// Waits for the end of a back channel.
private final class BackChannelReceiver: HTTPBodyReceiver {
  private let channel: ServedChannel
  private let request: UInt64

  init(_ channel: ServedChannel, request: UInt64) {
    self.channel = channel
    self.request = request
  }

  func receive(_ bytes: ArraySlice<UInt8>) {}
  func finish() {}
  func cancel() { channel.lose(request: request) }
}

/// A request of WebChannel with a body.
protocol ChannelExchange: Sendable {
  /// Looks at the bytes of the body that have arrived. An error refuses the request before the others come.
  func peek(_ body: [UInt8]) throws(RemoteError)
  /// Takes the body, on the loop or on a thread of the pool.
  func take(_ body: [UInt8])
  /// Answers a request with an error, by the status of the error or another one.
  func refuse(_ error: RemoteError, status: Int?)
  /// The client is gone before the answer.
  func cancel()
}

extension ChannelExchange {
  func refuse(_ error: RemoteError) { refuse(error, status: nil) }

  func peek(_ body: [UInt8]) throws(RemoteError) {}
}

/// Collects the body of a POST.
final class ChannelBodyReceiver: HTTPBodyReceiver {
  /// Longer bodies are not read on the loop.
  private static let shortBytesMax = 16 * 1024

  private let response: HTTPResponse
  private let body: Locked<HeldBody>
  private let exchange: any ChannelExchange

  init(
    _ request: HTTPRequest, _ response: HTTPResponse, for exchange: any ChannelExchange, bytesMax: Int
  ) {
    self.response = response
    self.exchange = exchange
    body = Locked(HeldBody(of: response.budget, bytesMax: bytesMax, isForm: true))
    if let excess = body.withLock({ $0.announce(request) }) { refuse(excess) }
  }

  func receive(_ bytes: ArraySlice<UInt8>) {
    let (excess, soFar) = body.withLock { ($0.add(bytes), $0.isOver ? nil : $0.bytes) }
    if let excess { return refuse(excess) }
    guard let soFar else { return }
    do throws(RemoteError) { try exchange.peek(soFar) } catch {
      body.withLock { $0.drop() }
      exchange.refuse(error)
    }
  }

  private func refuse(_ excess: HeldBody.Excess) {
    response.refused(excess.refusal, detail: excess.error.message)
    exchange.refuse(excess.error, status: excess.status)
  }

  func finish() {
    guard let bytes = body.withLock({ $0.take() }) else { return }
    guard bytes.count > Self.shortBytesMax else { return exchange.take(bytes) }
    response.queue.add { [exchange] in exchange.take(bytes) }
  }

  func cancel() {
    body.withLock { $0.drop() }
    exchange.cancel()
  }
}
