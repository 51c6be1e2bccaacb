// A socket of an attacker, which does what no client should.

#if Server
import Foundation
import HTTPTransport

/// A connection to a server of this machine. Used by one thread at a time.
final class AttackSocket {
  private static let sendSeconds = 0.2

  private var descriptor: Int32
  #if TLS
  private var cipher: TLSCipher?
  #endif

  /// Connects without encryption. A small `receiveBuffer` lets the server send little that is not read.
  init?(port: Int, receiveBuffer: Int32? = nil) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
    }
    setTime(SO_SNDTIMEO, Self.sendSeconds)
    setTime(SO_RCVTIMEO, Self.sendSeconds)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else {
      Foundation.close(descriptor)
      descriptor = -1
      return nil
    }
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Connects as the clients of a server do: with a complete handshake, if it encrypts.
  convenience init?(
    _ target: AbuseTarget, _ version: ApplicationProtocol, receiveBuffer: Int32? = nil
  ) {
    self.init(port: target.port, receiveBuffer: receiveBuffer)
    guard let file = target.trustedFile else { return }
    #if TLS
    guard let context = try? TLSClientContext(trustedFile: file),
      let cipher = try? TLSCipher(context, protocols: [version])
    else { return nil }
    self.cipher = cipher
    while !cipher.isReady {
      guard sendRaw(cipher.takeOutput()), let bytes = receiveRaw() else { return nil }
      guard (try? cipher.receive(bytes[...])) != nil else { return nil }
    }
    #else
    _ = (file, version)
    return nil
    #endif
  }

  deinit { close() }

  private func setTime(_ option: Int32, _ seconds: Double) {
    var time = timeval(tv_sec: Int(seconds), tv_usec: Int(seconds * 1e6) % 1_000_000)
    setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  // MARK: Bytes

  /// Returns false if the server does not take the bytes in time, or has ended the connection.
  @discardableResult
  func send(_ bytes: [UInt8], retriesMax: Int = 1) -> Bool {
    #if TLS
    if let cipher {
      guard (try? cipher.send(bytes)) != nil else { return false }
      return sendRaw(cipher.takeOutput(), retriesMax: retriesMax)
    }
    #endif
    return sendRaw(bytes, retriesMax: retriesMax)
  }

  /// Sends bytes below the encryption.
  @discardableResult
  func sendRaw(_ bytes: [UInt8], retriesMax: Int = 1) -> Bool {
    var start = 0
    var retries = 0
    while start < bytes.count {
      let count = bytes[start...].withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else {
        // The server may be slow.
        retries += 1
        guard count < 0, errno == EAGAIN || errno == EINTR, retries < retriesMax else { return false }
        continue
      }
      start += count
    }
    return true
  }

  /// Sends the first of these bytes, as many as the server takes. Returns nil after the end of the
  /// connection.
  func sendSome(_ bytes: ArraySlice<UInt8>) -> Int? {
    #if TLS
    if cipher != nil {
      let part = Array(bytes.prefix(16 * 1024))
      return send(part) ? part.count : nil
    }
    #endif
    let count = bytes.withUnsafeBytes {
      Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    return count >= 0 ? count : errno == EAGAIN || errno == EINTR ? 0 : nil
  }

  private func receiveRaw() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer[..<count]) : nil
  }

  /// Receives until the end of the connection, or for this time.
  func receiveAll(seconds: Double) -> [UInt8] {
    let end = Date().addingTimeInterval(seconds)
    var all: [UInt8] = []
    repeat {
      if let bytes = receiveRaw() { all += decrypted(bytes) } else if !isOpen { break }
    } while Date() < end
    return all
  }

  private func decrypted(_ bytes: [UInt8]) -> [UInt8] {
    #if TLS
    if let cipher { return (try? cipher.receive(bytes[...])) ?? [] }
    #endif
    return bytes
  }

  /// Whether the server has not ended the connection, as far as it is known. Reads nothing.
  var isOpen: Bool {
    guard descriptor >= 0 else { return false }
    var byte: UInt8 = 0
    let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    return count > 0 || count < 0 && (errno == EAGAIN || errno == EINTR)
  }

  // MARK: The end

  /// Ends the sending side.
  func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Ends the connection with a reset.
  func reset() {
    guard descriptor >= 0 else { return }
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    close()
  }

  func close() {
    guard descriptor >= 0 else { return }
    Foundation.close(descriptor)
    descriptor = -1
  }
}
#endif
