// The targets of WebChannel, and the kinds of requests.
//
//   target   := "/google.firestore.v1.Firestore/" ("Listen" | "Write") "/channel" ["?" form]
//
//   POST without SID               opens a session
//   POST with SID                  sends requests ("forward channel")
//   GET with SID and RID=rpc       receives arrays ("back channel")
//   GET or POST, TYPE=terminate    ends the session
//
//   AID   the number of the last array that the client has received
//   CI    1: the answer ends after the first arrays ("long polling")
//   TO    milliseconds after which such an answer ends without arrays
//   VER   the version of the protocol, 8
//   CVER  the version of the client; those since 22 know the time of keep-alives
//
// Other parameters, such as `zx` and `t`, keep caches away, or are of no use here.

internal import OfflineSync

/// A request of WebChannel without its body.
struct ChannelTarget {
  enum Request: Equatable {
    case open(Opening)
    case forward(ChannelID, acknowledged: UInt64?)
    case backChannel(ChannelID, acknowledged: UInt64?, BackChannelMode)
    case terminate(ChannelID)
  }

  /// The parameters of a request that opens a session.
  struct Opening: Equatable {
    /// Whether the client asks for a value that later requests of the session have in their targets.
    var wantsHTTPSessionID = false
    var knowsKeepAlive = false
    /// Header fields that the client has put into the target, one in a line.
    var headers: [UInt8]?
    /// The name of the database, for the log.
    var database: String?
  }

  static let unknown = RemoteError(.invalidArgument, "Error: Unknown SID.")
  private static let malformed = RemoteError(.invalidArgument, "The request is none of WebChannel.")
  private static let version: UInt64 = 8
  private static let keepAliveVersion: UInt64 = 22

  private static let paths: [(path: String, method: ServerMethod)] = [
    ("/google.firestore.v1.Firestore/Listen/channel", .listen),
    ("/google.firestore.v1.Firestore/Write/channel", .write),
  ]

  let request: Request

  /// The method to whose sessions a target belongs; nil if it is no target of WebChannel.
  static func method(of target: String) -> ServerMethod? {
    let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
    return paths.first { path.elementsEqual($0.path.utf8) }?.method
  }

  init(_ httpMethod: String, _ target: String) throws(RemoteError) {
    let query = target.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()
    let parameters = try Parameters(Array(query))
    let isPost = httpMethod == "POST"
    guard isPost || httpMethod == "GET" else { throw Self.malformed }
    switch parameters["TYPE"] {
    case "terminate": request = .terminate(try Self.id(parameters))
    case nil, "xmlhttp", "init":
      if !isPost {
        request = try Self.backChannel(parameters)
      } else if parameters["SID"] == nil {
        request = .open(try Self.opening(parameters))
      } else {
        request = .forward(try Self.id(parameters), acknowledged: try parameters.number("AID"))
      }
    default: throw Self.malformed
    }
  }

  private static func id(_ parameters: Parameters) throws(RemoteError) -> ChannelID {
    guard let text = parameters["SID"], let id = ChannelID(Array(text.utf8)) else { throw unknown }
    return id
  }

  private static func opening(_ parameters: Parameters) throws(RemoteError) -> Opening {
    guard try parameters.number("VER") ?? version == version else {
      throw RemoteError(.invalidArgument, "The server speaks version 8 of WebChannel.")
    }
    return Opening(
      wantsHTTPSessionID: parameters["X-HTTP-Session-Id"] != nil,
      knowsKeepAlive: try parameters.number("CVER") ?? 0 >= keepAliveVersion,
      headers: parameters["$httpHeaders"].map { Array($0.utf8) }, database: parameters["database"])
  }

  private static func backChannel(_ parameters: Parameters) throws(RemoteError) -> Request {
    guard parameters["RID"] == "rpc" else { throw malformed }
    let id = try id(parameters)
    let mode: BackChannelMode
    switch parameters["CI"] {
    case nil, "0": mode = .streaming
    case "1":
      let milliseconds = try parameters.number("TO")
      mode = .polling(
        nanoseconds: milliseconds.map { $0.multipliedReportingOverflow(by: 1_000_000) }.map {
          $0.overflow ? .max : $0.partialValue
        })
    default: throw malformed
    }
    return .backChannel(id, acknowledged: try parameters.number("AID"), mode)
  }
}

/// The parameters that the server uses.
private struct Parameters {
  private static let names: Set<String> = [
    "SID", "RID", "AID", "CI", "TO", "TYPE", "VER", "CVER", "X-HTTP-Session-Id", "$httpHeaders", "database",
  ]

  private var values: [String: String] = [:]

  init(_ query: [UInt8]) throws(RemoteError) {
    var pairs = FormPairs(query)
    while let (key, value) = try pairs.next() {
      let name = String(decoding: key, as: UTF8.self)
      guard Self.names.contains(name) else { continue }
      guard values.updateValue(String(decoding: value, as: UTF8.self), forKey: name) == nil else {
        throw RemoteError(.invalidArgument, "The parameter \(name) is there twice.")
      }
    }
  }

  subscript(_ name: String) -> String? { values[name] }

  /// The number in a parameter; nil if it is not there.
  func number(_ name: String) throws(RemoteError) -> UInt64? {
    guard let text = values[name] else { return nil }
    guard let number = ChannelNumber.parse(text.utf8) else {
      throw RemoteError(.invalidArgument, "The parameter \(name) is no number.")
    }
    return number
  }
}
