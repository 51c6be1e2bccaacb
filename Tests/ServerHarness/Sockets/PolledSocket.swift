// A connection on the loop of a test.

#if Server
import Foundation

/// One end of a connection. Its handlers run on the loop, and are released when it is closed.
final class PolledSocket: PolledDescriptor {
  /// The way in which a connection ends.
  enum Closing: CaseIterable {
    /// The bytes that were sent arrive first.
    case finish
    /// Bytes on their way may be lost.
    case reset
  }

  private(set) var descriptor: Int32
  private let loop: PollLoop
  private var output: [UInt8] = []
  private var closesAfterOutput = false
  /// Whether the connection takes bytes of its peer.
  var isReading = true
  var onBytes: ((ArraySlice<UInt8>) -> Void)?
  /// Called when the peer has closed the connection, or the connection is lost. The socket is closed.
  var onEnd: (() -> Void)?

  /// Takes a descriptor that is connected.
  init(_ descriptor: Int32, on loop: PollLoop) {
    self.descriptor = descriptor
    self.loop = loop
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    loop.add(self)
  }

  /// Connects to a port of this machine. Returns nil if nothing listens there.
  convenience init?(port: Int, on loop: PollLoop) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    var address = LoopbackAddress.of(port: port)
    guard LoopbackAddress.with(&address, { connect(descriptor, $0, $1) }) == 0 else {
      Foundation.close(descriptor)
      return nil
    }
    self.init(descriptor, on: loop)
  }

  deinit { if descriptor >= 0 { Foundation.close(descriptor) } }

  var isClosed: Bool { descriptor < 0 }
  var wantsToRead: Bool { isReading }
  var wantsToWrite: Bool { !output.isEmpty }

  func send(_ bytes: some Sequence<UInt8>) {
    guard !isClosed, !closesAfterOutput else { return }
    output += bytes
    write()
  }

  /// Closes when all bytes have left.
  func finish() {
    closesAfterOutput = true
    write()
  }

  func close(_ closing: Closing = .finish) {
    guard !isClosed else { return }
    if closing == .reset {
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
    Foundation.close(descriptor)
    descriptor = -1
    output = []
    // The caller may be one of the handlers.
    (onBytes, onEnd) = (nil, nil)
  }

  // MARK: On the loop

  func read() {
    var buffer = [UInt8](repeating: 0, count: 1 << 14)
    while !isClosed, isReading {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count > 0 {
        onBytes?(buffer[..<count])
      } else {
        if count == 0 || (errno != EAGAIN && errno != EINTR) { end() }
        return
      }
    }
    // A connection that does not read does not see bytes, but it sees errors.
    if !isClosed, !isReading { checkError() }
  }

  private func checkError() {
    var error: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
    isReading = true
    if error != 0 { end() }
  }

  func write() {
    while !isClosed, !output.isEmpty {
      let count = Foundation.send(descriptor, output, output.count, Int32(MSG_NOSIGNAL))
      if count >= 0 {
        output.removeFirst(count)
      } else {
        if errno != EAGAIN && errno != EINTR { end() }
        return
      }
    }
    if closesAfterOutput, output.isEmpty { close() }
  }

  private func end() {
    let handler = onEnd
    close()
    handler?()
  }
}

/// Accepts connections of this machine on a port that the system chooses.
final class PolledListener: PolledDescriptor {
  private(set) var descriptor: Int32
  let port: Int
  private let loop: PollLoop
  var onAccept: ((PolledSocket) -> Void)?

  init(on loop: PollLoop) throws {
    self.loop = loop
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = LoopbackAddress.of(port: 0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    guard descriptor >= 0, LoopbackAddress.with(&address, { bind(descriptor, $0, $1) }) == 0,
      listen(descriptor, 128) == 0,
      LoopbackAddress.with(&address, { pointer, _ in getsockname(descriptor, pointer, &size) }) == 0
    else { throw GRPCClientError("no port of this machine can be listened on") }
    port = Int(UInt16(bigEndian: address.sin_port))
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    loop.add(self)
  }

  deinit { close() }

  var isClosed: Bool { descriptor < 0 }
  var wantsToRead: Bool { true }
  var wantsToWrite: Bool { false }

  func close() {
    guard !isClosed else { return }
    Foundation.close(descriptor)
    descriptor = -1
    onAccept = nil
  }

  func read() {
    while !isClosed {
      let accepted = accept(descriptor, nil, nil)
      guard accepted >= 0 else { return }
      onAccept?(PolledSocket(accepted, on: loop))
    }
  }

  func write() {}
}

/// Addresses of this machine as the system's calls want them.
private enum LoopbackAddress {
  static func of(port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr = in_addr(s_addr: UInt32(INADDR_LOOPBACK).bigEndian)
    address.sin_port = UInt16(port).bigEndian
    return address
  }

  static func with(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
#endif
