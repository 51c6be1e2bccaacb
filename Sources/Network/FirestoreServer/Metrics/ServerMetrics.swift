// The counters of a server. Each set of labels is fixed, so memory does not grow with requests.

internal import FirestoreService
internal import HTTPTransport

/// The way by which a request came.
enum ServerProtocol: Int, CaseIterable, Sendable {
  case grpc, rest, webChannel

  var name: String {
    switch self {
    case .grpc: "grpc"
    case .rest: "rest"
    case .webChannel: "webchannel"
    }
  }
}

/// The counters of a server. Usable from any thread.
final class ServerMetrics: Sendable {
  private static let codeCount = StatusName.all.count

  private let requests: [Counter]
  private let durations: [DurationHistogram]
  private let transportRefusals: [Counter]
  private let serviceRefusals: [Counter]
  private let refusals: [Counter]
  let bytesReceived = Counter()
  let bytesSent = Counter()
  let connections = Counter()
  let openConnections = Gauge()
  let openRequests = Gauge()
  /// Open calls of Listen and Write.
  let openStreams = Gauge()
  /// Open sessions of WebChannel, also those whose call has ended.
  let openChannels = Gauge()

  init() {
    let methods = ServerMethod.allCases.count
    requests = (0..<methods * ServerProtocol.allCases.count * Self.codeCount).map { _ in Counter() }
    durations = (0..<methods).map { _ in DurationHistogram() }
    transportRefusals = HTTPTransport.Refusal.allCases.map { _ in Counter() }
    serviceRefusals = ServiceRefusal.allCases.map { _ in Counter() }
    refusals = ServerRefusal.allCases.map { _ in Counter() }
  }

  private static func place(_ method: ServerMethod, _ way: ServerProtocol, code: Int) -> Int {
    let code = (0..<codeCount).contains(code) ? code : 2
    return (method.rawValue * ServerProtocol.allCases.count + way.rawValue) * codeCount + code
  }

  /// Counts a request that has ended. The duration of a stream of requests says how long its client stayed,
  /// so it is not recorded.
  func ended(_ method: ServerMethod, by way: ServerProtocol, code: Int, nanoseconds: UInt64) {
    requests[Self.place(method, way, code: code)].add()
    if !method.isStreamOfRequests { durations[method.rawValue].record(nanoseconds) }
  }

  func requestCount(_ method: ServerMethod, by way: ServerProtocol, code: Int) -> UInt64 {
    requests[Self.place(method, way, code: code)].value
  }

  func durations(of method: ServerMethod) -> DurationHistogram { durations[method.rawValue] }

  func refused(_ refusal: ServerRefusal) { refusals[Self.place(refusal)].add() }

  func count(of refusal: ServerRefusal) -> UInt64 { refusals[Self.place(refusal)].value }

  func refused(_ refusal: HTTPTransport.Refusal) { transportRefusals[Self.place(refusal)].add() }

  func count(of refusal: HTTPTransport.Refusal) -> UInt64 { transportRefusals[Self.place(refusal)].value }

  func refused(_ refusal: ServiceRefusal) { serviceRefusals[Self.place(refusal)].add() }

  func count(of refusal: ServiceRefusal) -> UInt64 { serviceRefusals[Self.place(refusal)].value }

  private static let transportPlaces = Dictionary(
    uniqueKeysWithValues: HTTPTransport.Refusal.allCases.enumerated().map { ($1, $0) })
  private static let servicePlaces = Dictionary(
    uniqueKeysWithValues: ServiceRefusal.allCases.enumerated().map { ($1, $0) })
  private static let places = Dictionary(
    uniqueKeysWithValues: ServerRefusal.allCases.enumerated().map { ($1, $0) })

  private static func place(_ refusal: HTTPTransport.Refusal) -> Int { transportPlaces[refusal] ?? 0 }
  private static func place(_ refusal: ServiceRefusal) -> Int { servicePlaces[refusal] ?? 0 }
  private static func place(_ refusal: ServerRefusal) -> Int { places[refusal] ?? 0 }
}
