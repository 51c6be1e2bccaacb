// Sessions of the real server without sockets, for a client without sockets.

#if Server
@testable import FirestoreServer
import FirestoreService
import OfflineSync

/// The sessions of one method. Requests of HTTP have numbers, which the caller chooses.
struct SimulatedServer {
  /// Something that happens to the answer of a request.
  enum Effect {
    case head(request: UInt64, status: Int)
    case bytes(request: UInt64, [UInt8])
    case end(request: UInt64)
    /// The server wants to know when the client has read what was sent.
    case askWhenRead(request: UInt64)
  }

  struct Session {
    var machine: ChannelSession
    /// The messages of the client that the call has received.
    var received: [[UInt8]] = []
    var isPaused = false
    var isForgotten = false
  }

  private(set) var sessions: [String: Session] = [:]
  /// The session to which each request belongs.
  private var requests: [UInt64: String] = [:]
  private var ids = 0

  /// Ends the process of the server, and starts another one, which does not know the sessions.
  mutating func restart() { (sessions, requests) = ([:], [:]) }

  /// Takes a whole request.
  mutating func take(
    _ request: UInt64, method: String, target: String, body: [UInt8], at now: UInt64
  ) -> [Effect] {
    do throws(RemoteError) {
      switch try ChannelTarget(method, target).request {
      case .open:
        let form = try FormBody(body)
        ids += 1
        let id = String(repeating: "0", count: 28) + String(1000 + ids)
        sessions[id] = Session(
          machine: ChannelSession(firstRequest: form.requests.first?.number ?? 0, at: now))
        var effects = receive(.opened(form.requests), in: id, at: now)
        effects += answer(request, ChannelArrays.framed(#"[[0,["c","\#(id)","",8,12,30000]]]"#))
        return effects
      case .forward(let id, let acknowledged):
        let form = try FormBody(body)
        return receive(
          .forward(request: request, form.requests, acknowledged: acknowledged), in: id.text, at: now)
      case .backChannel(let id, let acknowledged, let mode):
        return receive(
          .backChannel(request: request, acknowledged: acknowledged, mode), in: id.text, at: now,
          of: request)
      case .terminate(let id): return receive(.terminate(request: request), in: id.text, at: now)
      }
    } catch {
      return refuse(request, error)
    }
  }

  /// Delivers an event of the call of a session.
  mutating func deliver(_ event: ServiceEvent, to id: String, at now: UInt64) -> [Effect] {
    receive(.service([event]), in: id, at: now)
  }

  /// The client of a request is gone.
  mutating func lose(_ request: UInt64, at now: UInt64) -> [Effect] {
    requests[request].map { receive(.lost(request: request), in: $0, at: now) } ?? []
  }

  mutating func noteRead(_ request: UInt64, at now: UInt64) -> [Effect] {
    requests[request].map { receive(.read(request: request), in: $0, at: now) } ?? []
  }

  mutating func passTime(to now: UInt64) -> [Effect] {
    sessions.keys.sorted().flatMap { receive(.time, in: $0, at: now) }
  }

  private mutating func receive(
    _ event: ChannelEvent, in id: String, at now: UInt64, of request: UInt64? = nil
  ) -> [Effect] {
    if let request { requests[request] = id }
    guard sessions[id] != nil else {
      switch event {
      case .forward(let request, _, _), .backChannel(let request, _, _), .terminate(let request):
        return refuse(request, ChannelTarget.unknown)
      default: return []
      }
    }
    let actions = sessions[id]!.machine.receive(event, at: now)
    sessions[id]!.machine.checkInvariants()
    return actions.flatMap { perform($0, in: id) }
  }

  private mutating func perform(_ action: ChannelAction, in id: String) -> [Effect] {
    switch action {
    case .answer(let request, let bytes): return answer(request, bytes)
    case .refuse(let request, let refusal):
      let error =
        refusal == .unknown ? ChannelTarget.unknown : RemoteError(.invalidArgument, "refused: \(refusal)")
      return refuse(request, error)
    case .begin(let request): return [.head(request: request, status: 200)]
    case .send(let request, let bytes): return [.bytes(request: request, bytes)]
    case .askWhenRead(let request): return [.askWhenRead(request: request)]
    case .end(let request): return [.end(request: request)]
    case .pass(let message): sessions[id]!.received.append(message)
    case .setPaused(let isPaused): sessions[id]!.isPaused = isPaused
    case .cancelCall: break
    case .forget: sessions[id]!.isForgotten = true
    }
    return []
  }

  private func answer(_ request: UInt64, _ body: [UInt8], status: Int = 200) -> [Effect] {
    [.head(request: request, status: status)] + (body.isEmpty ? [] : [.bytes(request: request, body)])
      + [.end(request: request)]
  }

  private func refuse(_ request: UInt64, _ error: RemoteError) -> [Effect] {
    answer(request, RESTAnswer(error).body, status: 400)
  }
}
#endif
