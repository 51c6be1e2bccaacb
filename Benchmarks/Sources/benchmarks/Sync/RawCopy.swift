// A copy of bytes over a connection of the loopback interface, which does nothing else with them.

#if Server
import Foundation
import GRPCClients

enum RawCopy {
  private static let bufferBytes = 1 << 16

  /// Sends bytes from a client to a server, and then bytes back.
  static func cost(sent: Int, received: Int) throws -> SyncCost {
    let listener = try CopySocket.listening()
    let server = ServerEnd()
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      let start = ThreadTime.now()
      server.result = Result {
        let connection = try listener.accepted()
        try connection.receive(sent)
        try connection.send(received)
      }
      server.time = Double(ThreadTime.now() - start) / 1000
      ended.signal()
    }
    let clientStart = ThreadTime.now()
    let start = ContinuousClock.now
    let connection = try CopySocket.connected(to: try listener.port)
    try connection.send(sent)
    try connection.receive(received)
    let time = (ContinuousClock.now - start) / .microseconds(1)
    let clientTime = Double(ThreadTime.now() - clientStart) / 1000
    ended.wait()
    try server.result.get()
    return SyncCost(
      time: time, clientTime: clientTime, serverTime: server.time, bytesSent: sent, bytesReceived: received)
  }

  private final class ServerEnd: @unchecked Sendable {
    // Why `@unchecked Sendable` is correct: it is written before a semaphore is signalled, and read after.
    var time = 0.0
    var result: Result<Void, any Error> = .success(())
  }

  /// A blocking socket, closed with the object.
  private final class CopySocket: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) throws {
      guard descriptor >= 0 else { throw BenchmarkFailure("a socket fails with error \(errno)") }
      self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    static func listening() throws -> CopySocket {
      let made = try CopySocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
      try made.use(port: 0, bind)
      guard listen(made.descriptor, 1) == 0 else { throw BenchmarkFailure("a socket does not listen") }
      return made
    }

    static func connected(to port: UInt16) throws -> CopySocket {
      let made = try CopySocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
      try made.use(port: port, connect)
      return made
    }

    func accepted() throws -> CopySocket { try CopySocket(accept(descriptor, nil, nil)) }

    private func use(
      port: UInt16, _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr = in_addr(s_addr: UInt32(INADDR_LOOPBACK).bigEndian)
      address.sin_port = port.bigEndian
      let status = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard status == 0 else { throw BenchmarkFailure("a socket fails with error \(errno)") }
    }

    var port: UInt16 {
      get throws {
        guard let port = SocketPorts.own(descriptor) else {
          throw BenchmarkFailure("a socket has no port")
        }
        return port
      }
    }

    func send(_ count: Int) throws {
      let bytes = [UInt8](repeating: 0x41, count: bufferBytes)
      var left = count
      while left > 0 {
        let sent = write(descriptor, bytes, min(left, bytes.count))
        guard sent > 0 else { throw BenchmarkFailure("a copy ends with error \(errno)") }
        left -= sent
      }
    }

    func receive(_ count: Int) throws {
      var bytes = [UInt8](repeating: 0, count: bufferBytes)
      var left = count
      while left > 0 {
        let received = read(descriptor, &bytes, min(left, bytes.count))
        guard received > 0 else { throw BenchmarkFailure("a copy ends with error \(errno)") }
        left -= received
      }
    }
  }
}
#endif
