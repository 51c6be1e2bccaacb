// Bytes that are no request, and clients that go away.

#if Server
import Harness
import HTTPTransport

extension Attack {
  private static let methods = ["GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS", "TRACE", "BREW"]
  private static let parts = [
    "v1", "projects", "demo-abuse", "databases", "(default)", "documents", "..", ".", "%2e%2e", "%00", "%",
    "%zz",
    "documents:commit", "documents:runQuery", "emulator", "é", "a b", "~", "__x__", "?mask=", "#",
    "google.firestore",
    "google.firestore.v1.Firestore", "Listen", "channel", "Commit", "metrics", "",
  ]

  mutating func garbage(port: Int? = nil) {
    guard let socket = openRaw(port: port) else { return }
    let isFrames = port != nil && random.oneIn(2)
    socket.send((isFrames ? FrameWriter.preface : [UInt8(random.below(256))]) + random.bytes(4000))
    receiveRefusal(of: socket, seconds: 0.05)
    socket.reset()
  }

  /// Sends frames of random types with random contents.
  mutating func garbageFrames() {
    guard let socket = open() else { return }
    var bytes = FrameWriter.opened().bytes
    if random.oneIn(3) { bytes += random.bytes(2000) }
    for _ in 0..<30 {
      let payload = random.bytes(random.below(40))
      bytes += FrameWriter.number(UInt32(payload.count), byteCount: 3)
      bytes += [UInt8(random.below(11)), UInt8(random.below(64))]
      bytes += FrameWriter.number(UInt32(random.below(9)), byteCount: 4) + payload
    }
    socket.send(bytes)
    receiveRefusal(of: socket, seconds: 0.05)
    socket.reset()
  }

  mutating func path() -> String {
    if random.oneIn(20) { return "/" + String(repeating: "a/", count: random.below(7000)) }
    return "/"
      + (0..<random.below(9)).map { _ in Self.parts[random.below(Self.parts.count)] }.joined(separator: "/")
  }

  mutating func garbagePaths() {
    if random.oneIn(2) {
      guard let socket = open(.http1) else { return }
      let host = random.oneIn(8) ? "evil.example" : "localhost"
      for _ in 0..<5 {
        let method = Self.methods[random.below(Self.methods.count)]
        let body = random.bytes(random.below(50))
        socket.send(
          Array("\(method) \(path()) HTTP/1.1\r\nHost: \(host)\r\nContent-Length: \(body.count)\r\n\r\n".utf8)
            + body)
      }
      _ = socket.receiveAll(seconds: 0.05)
      return socket.close()
    }
    guard let socket = open() else { return }
    var writer = FrameWriter.opened()
    for number in 0..<20 {
      let fields = random.oneIn(2) ? Self.grpc : [("origin", "https://evil.example")]
      writer.request(UInt32(2 * number + 1), path: path(), fields: fields, endsStream: false)
      writer.data(UInt32(2 * number + 1), random.bytes(random.below(60)))
    }
    socket.send(writer.bytes)
    _ = socket.receiveAll(seconds: 0.05)
    socket.close()
  }

  /// Ends connections anywhere within good requests.
  mutating func deaths() {
    var writer = FrameWriter.opened()
    writer.request(1, path: Self.service + "RunQuery", fields: Self.grpc, endsStream: false)
    writer.data(1, Self.framed(target.bigQuery))
    writer.request(3, path: Self.service + "Listen", fields: Self.grpc, endsStream: false)
    let old = Array(
      "POST \(documents):runQuery HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n\r\n{}".utf8)
    for _ in 0..<10 where !isOver {
      let isOld = random.oneIn(3)
      guard let socket = open(isOld ? .http1 : .h2) else { return }
      let bytes = isOld ? old + get("\(documents)/big/0") : writer.bytes
      socket.send(Array(bytes.prefix(random.below(bytes.count + 1))))
      if random.oneIn(3) { _ = socket.receiveAll(seconds: 0.01) }
      if random.oneIn(2) { socket.finish() }
      if random.oneIn(2) { socket.reset() } else { socket.close() }
    }
  }

  /// Ends the sending side of connections, and waits for answers.
  mutating func halfClosed() {
    let isOld = random.oneIn(2)
    let sockets = openMany(10, isOld ? .http1 : .h2)
    for socket in sockets {
      var writer = FrameWriter.opened()
      writer.request(1, path: "\(documents)/big/0", fields: [("authorization", "Bearer owner")])
      socket.send(isOld ? get("\(documents)/big/0", "Authorization: Bearer owner\r\n") : writer.bytes)
      socket.finish()
    }
    wait(seconds: 0.1)
    for socket in sockets {
      _ = socket.receiveAll(seconds: 0.02)
      socket.close()
    }
  }

  // MARK: TLS

  mutating func handshakeGarbage() {
    guard let socket = openRaw() else { return }
    let bytes = random.bytes(500)
    socket.sendRaw(random.oneIn(2) ? [22, 3, 1, 1, 0xF4] + bytes : [UInt8(random.below(256))] + bytes)
    receiveRefusal(of: socket, seconds: 0.02)
    socket.reset()
  }

  /// A ClientHello, as far as this attack sends it.
  private var hello: [UInt8] {
    #if TLS
    guard let file = target.trustedFile, let context = try? TLSClientContext(trustedFile: file),
      let cipher = try? TLSCipher(context)
    else { return [] }
    return cipher.takeOutput()
    #else
    return []
    #endif
  }

  mutating func handshakeDeaths() {
    for _ in 0..<10 where !isOver {
      guard let socket = openRaw() else { return }
      let hello = hello
      socket.sendRaw(Array(hello.prefix(random.oneIn(2) ? hello.count : random.below(hello.count + 1))))
      if random.oneIn(2) { _ = socket.receiveAll(seconds: 0.01) }
      if random.oneIn(3) { socket.finish() }
      if random.oneIn(2) { socket.reset() } else { socket.close() }
    }
  }

  func handshakes() {
    for _ in 0..<10 where !isOver { open()?.reset() }
  }

  func hugeHello() {
    guard let socket = openRaw() else { return }
    var bytes: [UInt8] = [22, 3, 1, 0x40, 0, 1, 1, 0xFF, 0xFF]
    bytes += [UInt8](repeating: 3, count: 0x4000 - 4)
    socket.sendRaw(bytes)
    receiveRefusal(of: socket, seconds: 0.02)
    socket.reset()
  }

  mutating func plaintext() {
    guard let socket = openRaw() else { return }
    socket.sendRaw(random.oneIn(2) ? get("/") : FrameWriter.opened().bytes)
    receiveRefusal(of: socket, seconds: 0.02)
    socket.reset()
  }
}
#endif
