// Sessions of WebChannel that nothing reads.

#if Server
import FirestoreWire
import Foundation
import HTTPTransport
import Harness

extension Attack {
  private static let channel = service + "Listen/channel"

  /// Opens sessions that listen to the large documents, and does not read their back channels.
  func unreadChannels(_ count: Int) {
    let sockets = openMany(count, .http1, receiveBuffer: 4096)
    let opening = openingRequest
    for socket in sockets where !isOver { socket.send(opening) }
    var ids: [String] = []
    for socket in sockets where !isOver {
      guard let id = Self.sessionID(in: socket.receiveAll(seconds: 0)) else { continue }
      ids.append(id)
      socket.send(get(target(sid: id, "RID=rpc&AID=0&CI=0&TYPE=xmlhttp")))
    }
    wait(seconds: 2)
    for socket in sockets { socket.reset() }
    end(ids)
  }

  /// Ends sessions, which would stay for a minute, beside the next kinds of attack.
  private func end(_ ids: [String]) {
    guard let socket = open(.http1) else { return }
    for id in ids {
      socket.send(get(target(sid: id, "RID=2&TYPE=terminate")))
      _ = socket.receiveAll(seconds: 0)
    }
    socket.reset()
  }

  private func target(sid: String, _ parameters: String) -> String {
    "\(Self.channel)?VER=8&CVER=22&SID=\(sid)&\(parameters)"
  }

  private var openingRequest: [UInt8] {
    let name = target.database.text
    let query =
      #"{"parent":"\#(name)/documents","structuredQuery":{"from":[{"collectionId":"\#(AbuseTarget.bigCollection)"}]}}"#
    let message = #"{"database":"\#(name)","addTarget":{"targetId":2,"query":\#(query)}}"#
    let form =
      "headers=Authorization%3ABearer%20owner%0D%0A&count=1&ofs=0&req0___data__=\(FormText.encoded(message))"
    let head =
      "POST \(Self.channel)?VER=8&CVER=22&RID=1&database=\(FormText.encoded(name)) HTTP/1.1\r\n"
      + "Host: localhost\r\nContent-Length: \(form.utf8.count)\r\n\r\n"
    return Array((head + form).utf8)
  }

  /// The id in the answer to an opening request.
  private static func sessionID(in answer: [UInt8]) -> String? {
    let text = String(decoding: answer, as: UTF8.self)
    guard let start = text.range(of: #"["c",""#)?.upperBound,
      let end = text[start...].firstIndex(of: #"""#)
    else { return nil }
    return String(text[start..<end])
  }
}
#endif
