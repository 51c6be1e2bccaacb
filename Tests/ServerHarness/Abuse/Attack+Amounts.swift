// Too many bytes and connections, and answers that are not read.

#if Server
import Foundation
import Harness
import HTTPTransport

extension Attack {
  private static let mebibyte = 1024 * 1024

  mutating func hugeFields() {
    if random.oneIn(2) {
      guard let socket = open(.http1) else { return }
      let line = Array("x: \(String(repeating: "y", count: 1000))\r\n".utf8)
      socket.send(get("/").dropLast(2) + (0..<100).flatMap { _ in line })
      receiveRefusal(of: socket, seconds: 0.1)
      return socket.reset()
    }
    guard let socket = open() else { return }
    var writer = FrameWriter.opened()
    let fields = (0..<30).map { ("x-\($0)", String(repeating: "y", count: 1000)) }
    let block = FrameWriter.requestBlock(path: "/", fields: fields)
    writer.frame(.headers, flags: FrameWriter.endStream, stream: 1, payload: Array(block[..<16_000]))
    writer.frame(.continuation, flags: FrameWriter.endHeaders, stream: 1, payload: Array(block[16_000...]))
    socket.send(writer.bytes)
    receiveRefusal(of: socket, seconds: 0.1)
    socket.reset()
  }

  mutating func hugeMessages() {
    if random.oneIn(2) {
      guard let socket = open(.http1) else { return }
      socket.send(
        Array("POST \(documents):commit HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n".utf8))
      receiveRefusal(of: socket, seconds: 0.1)
      return socket.reset()
    }
    guard let socket = open() else { return }
    var writer = FrameWriter.opened()
    writer.request(1, path: Self.service + "Commit", fields: Self.grpc, endsStream: false)
    writer.data(1, [0, 0x7F, 0xFF, 0xFF, 0xFF], endsStream: false)
    socket.send(writer.bytes)
    receiveRefusal(of: socket, seconds: 0.1)
    socket.reset()
  }

  /// Sends bodies of the largest size, except for their last bytes, until the server holds all that it may.
  func heldMessages() {
    let bytes = 10 * Self.mebibyte
    let head = "POST \(documents):commit HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(bytes)\r\n\r\n"
    let piece = [UInt8](repeating: UInt8(ascii: " "), count: 256 * 1024)
    let sockets = openMany(60, .http1)
    for socket in sockets where !isOver {
      var left = socket.send(Array(head.utf8)) ? bytes - 1000 : 0
      while left > 0, !isOver, socket.isOpen {
        let sent = socket.sendSome(piece.prefix(left))
        left = sent.map { left - $0 } ?? 0
      }
    }
    wait(seconds: 0.3)
    for socket in sockets { socket.reset() }
  }

  /// Sends requests that are answered with a document, and reads nothing.
  func pipelining() {
    let requests = (0..<200).flatMap { _ in get("\(documents)/big/0", "Authorization: Bearer owner\r\n") }
    let sockets = openMany(5, .http1, receiveBuffer: 4096)
    for _ in 0..<20 {
      for socket in sockets where !isOver && socket.isOpen { socket.send(requests) }
    }
    wait(seconds: 0.3)
    for socket in sockets { socket.reset() }
  }

  func connections() {
    let sockets = openMany(AttackKind.connections.connectionsMax)
    wait(seconds: 0.5)
    for socket in sockets { socket.reset() }
  }

  /// Asks for many large answers, and reads nothing of them. The windows of HTTP/2 are open in every second
  /// connection, so that only the socket is full.
  func unread(_ connections: Int, queries: Int, seconds: Double) {
    let sockets = openMany(connections, receiveBuffer: 4096)
    for (number, socket) in sockets.enumerated() where !isOver {
      socket.send(bigQueries(queries, opensWindows: number % 2 == 0))
    }
    wait(seconds: seconds)
    for socket in sockets { socket.reset() }
  }

  /// Uses a processor for a while.
  mutating func idleBurn() {
    let end = Date().addingTimeInterval(0.02)
    while Date() < end { _ = random.bytes(4096) }
  }

  /// Asks for the same, and reads all answers, in windows as large as those of other clients.
  func greedyReaders() {
    let sockets = openMany(AttackKind.greedyReaders.connectionsMax)
    for socket in sockets where !isOver { socket.send(bigQueries(20, opensWindows: true)) }
    var rest = sockets
    while !rest.isEmpty, !isOver {
      rest = rest.filter { !$0.receiveAll(seconds: 0.02).isEmpty }
    }
    for socket in sockets { socket.reset() }
  }

  private func bigQueries(_ count: Int, opensWindows: Bool) -> [UInt8] {
    var writer = FrameWriter()
    if opensWindows {
      writer.frame(.settings, payload: [0, 4] + FrameWriter.number(0x7FFF_FFFF, byteCount: 4))
      writer.frame(.windowUpdate, payload: FrameWriter.number(0x7FFE_0000, byteCount: 4))
    } else {
      writer.frame(.settings)
    }
    for number in 0..<count {
      let stream = UInt32(2 * number + 1)
      writer.request(stream, path: Self.service + "RunQuery", fields: Self.grpc, endsStream: false)
      writer.data(stream, Self.framed(target.bigQuery))
    }
    return FrameWriter.preface + writer.bytes
  }

  /// Holds connections with answers that are not read, until the server ends them.
  func slowReaders() {
    let sockets = openMany(AttackKind.slowReaders.connectionsMax, receiveBuffer: 4096)
    for (number, socket) in sockets.enumerated() {
      socket.send(bigQueries(2, opensWindows: number % 2 == 0))
    }
    // The end behind the unread bytes cannot be seen, so this waits as long as the server.
    wait(seconds: 64)
    for socket in sockets { socket.reset() }
  }
}
#endif
