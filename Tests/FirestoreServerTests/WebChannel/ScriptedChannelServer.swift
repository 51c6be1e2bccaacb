// A server of WebChannel whose answers a test writes.

import Foundation

@testable import ServerHarness

#if Server
/// Keeps the requests of a client, and answers each as the test says. Used on the loop.
final class ScriptedChannelServer {
  /// A request with its parameters.
  struct Request {
    let method: String
    let parameters: [String: String]
    let form: [String: String]
  }

  enum Answer {
    /// The answer is complete.
    case whole(Int, String)
    /// The answer has begun.
    case begun(String)
    /// The connection is lost.
    case lost
    case none
  }

  private let listener: PolledListener
  private var sockets: [PolledSocket] = []
  private(set) var requests: [Request] = []

  init(_ loop: PollLoop, answer: @escaping (Request) -> Answer) throws {
    listener = try PolledListener(on: loop)
    listener.onAccept = { [unowned self] socket in
      sockets.append(socket)
      var splitter = RequestSplitter()
      socket.onBytes = { [unowned self, unowned socket] bytes in
        for request in splitter.take(bytes) {
          let parsed = Self.parsed(request)
          requests.append(parsed)
          Self.send(answer(parsed), on: socket)
        }
      }
    }
  }

  var port: Int { listener.port }

  func requests(where condition: (Request) -> Bool) -> [Request] { requests.filter(condition) }

  static func frame(_ json: String) -> String { "\(json.utf16.count)\n\(json)" }

  /// The answer that opens a session.
  static let opened = Answer.whole(200, frame(#"[[0,["c","s1","",8,12,30000]]]"#))

  private static func send(_ answer: Answer, on socket: PolledSocket) {
    switch answer {
    case .whole(let status, let body):
      socket.send(Array("HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8))
    case .begun(let body):
      let size = String(body.utf8.count, radix: 16)
      socket.send(Array("HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\n\(body)\r\n".utf8))
    case .lost: socket.close(.reset)
    case .none: break
    }
  }

  private static func parsed(_ request: SplitRequest) -> Request {
    let query = request.target.split(separator: "?").dropFirst().first.map(String.init) ?? ""
    let text = String(decoding: request.bytes, as: UTF8.self)
    let body = text.range(of: "\r\n\r\n").map { String(text[$0.upperBound...]) } ?? ""
    return Request(method: request.method, parameters: parameters(query), form: parameters(body))
  }

  private static func parameters(_ text: String) -> [String: String] {
    var values: [String: String] = [:]
    for part in text.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      values[String(pair[0])] = pair.count > 1 ? pair[1].removingPercentEncoding ?? "" : ""
    }
    return values
  }
}
#endif
