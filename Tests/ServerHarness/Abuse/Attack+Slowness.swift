// Clients that take their time.

#if Server
import Foundation
import Harness
import HTTPTransport

extension Attack {
  /// Sends the pieces of each connection, one in a second, until the server has ended all connections.
  private func dribble(
    _ sockets: [AttackSocket], isRaw: Bool = false, _ piece: (_ number: Int, _ second: Int) -> [UInt8]
  ) {
    var open = Array(sockets.enumerated())
    var second = 0
    while !open.isEmpty, !isOver {
      for (number, socket) in open {
        let bytes = piece(number, second)
        if isRaw { socket.sendRaw(bytes) } else { socket.send(bytes) }
      }
      second += 1
      wait(seconds: 1)
      open = open.filter { socket in
        _ = socket.element.isOpen ? [] : socket.element.receiveAll(seconds: 0)
        return socket.element.isOpen && second < 24
      }
    }
    for socket in sockets { socket.reset() }
  }

  func silence() {
    var sockets: [AttackSocket] = []
    for _ in 0..<AttackKind.silence.connectionsMax {
      guard let socket = openRaw() else { break }
      sockets.append(socket)
    }
    dribble(sockets) { _, _ in [] }
  }

  func slowFields() {
    let half = AttackKind.slowFields.connectionsMax / 2
    let (old, new) = (openMany(half, .http1), openMany(half))
    dribble(old + new) { number, second in
      if number < old.count { return second == 0 ? Array(get("/").dropLast(2)) + Array("x: ".utf8) : [0x61] }
      guard second == 0 else { return second < 7 ? Self.continuation : [] }
      var writer = FrameWriter.opened()
      writer.frame(.headers, stream: 1, payload: FrameWriter.requestBlock(path: "/"))
      return writer.bytes
    }
  }

  private static var continuation: [UInt8] {
    var writer = FrameWriter()
    writer.frame(.continuation, stream: 1, payload: FrameWriter.field("x", "y"))
    return writer.bytes
  }

  func slowBodies() {
    let half = AttackKind.slowBodies.connectionsMax / 2
    let (old, new) = (openMany(half, .http1), openMany(half))
    let head = "POST \(documents):commit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n"
    dribble(old + new) { number, second in
      if number < old.count { return second == 0 ? Array(head.utf8) : [0x20] }
      var writer = second == 0 ? FrameWriter.opened() : FrameWriter()
      if second == 0 {
        writer.request(1, path: Self.service + "Commit", fields: Self.grpc, endsStream: false)
        writer.data(1, [0, 0, 1, 0, 0], endsStream: false)
      }
      writer.data(1, [0], endsStream: false)
      return writer.bytes
    }
  }

  func slowHandshakes() {
    var sockets: [AttackSocket] = []
    for _ in 0..<AttackKind.slowHandshakes.connectionsMax {
      guard let socket = openRaw() else { break }
      sockets.append(socket)
    }
    let bytes: [UInt8] = [22, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3] + [UInt8](repeating: 7, count: 100)
    dribble(sockets, isRaw: true) { _, second in Array(bytes.dropFirst(second).prefix(1)) }
  }
}
#endif
