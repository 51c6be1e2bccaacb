// The means of an attack, and how often it has happened.

#if Server
import FirestoreWire
import Foundation
import Harness
import HTTPTransport

/// The surroundings of one attacker. Used by its thread.
struct Attack {
  let target: AbuseTarget
  var random: SeededRandom
  private let counters: AttackCounters

  /// Time at least for a busy server to refuse the attack.
  private let refusalSeconds: Double

  init(_ target: AbuseTarget, _ counters: AttackCounters, seed: UInt64, refusalSeconds: Double = 0) {
    self.target = target
    self.counters = counters
    self.refusalSeconds = refusalSeconds
    random = SeededRandom(seed: seed)
  }

  var isOver: Bool { counters.isStopped }

  /// Connects as the clients of the server do. Returns nil if the server refuses.
  func open(_ version: ApplicationProtocol = .h2, receiveBuffer: Int32? = nil) -> AttackSocket? {
    counters.connected()
    return AttackSocket(target, version, receiveBuffer: receiveBuffer)
  }

  /// Connects without encryption, also to a server that needs it.
  func openRaw(port: Int? = nil) -> AttackSocket? {
    counters.connected()
    return AttackSocket(port: port ?? target.port)
  }

  /// Connects many times.
  func openMany(
    _ count: Int, _ version: ApplicationProtocol = .h2, receiveBuffer: Int32? = nil
  ) -> [AttackSocket] {
    var sockets: [AttackSocket] = []
    while sockets.count < count, !isOver {
      guard let socket = open(version, receiveBuffer: receiveBuffer) else { break }
      sockets.append(socket)
    }
    return sockets
  }

  /// Receives until the server ends the connection, or for this time.
  func receiveRefusal(of socket: AttackSocket, seconds: Double) {
    _ = socket.receiveAll(seconds: max(seconds, refusalSeconds))
  }

  /// Waits, unless the attack is over.
  func wait(seconds: Double) {
    let end = Date().addingTimeInterval(seconds)
    while !isOver, Date() < end { Thread.sleep(forTimeInterval: min(0.05, seconds)) }
  }

  // MARK: Bytes

  func get(_ path: String, _ fields: String = "") -> [UInt8] {
    Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n".utf8)
  }

  var documents: String { "/v1/\(target.database.documentsName)" }

  static let service = "/google.firestore.v1.Firestore/"
  static let grpc = [
    ("content-type", "application/grpc"), ("te", "trailers"), ("authorization", "Bearer owner"),
  ]

  /// A message of gRPC.
  static func framed(_ message: [UInt8]) -> [UInt8] {
    [0] + FrameWriter.number(UInt32(message.count), byteCount: 4) + message
  }
}

/// Counts what attackers do. Usable from any thread.
final class AttackCounters: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects the variables.
  private let lock = NSLock()
  private var stopped = false
  private var connections = 0
  private var rounds: [AttackKind: Int] = [:]

  var isStopped: Bool { lock.withLock { stopped } }
  func stop() { lock.withLock { stopped = true } }
  func connected() { lock.withLock { connections += 1 } }
  func finished(_ kind: AttackKind) { lock.withLock { rounds[kind, default: 0] += 1 } }

  var connectionCount: Int { lock.withLock { connections } }
  func roundCount(_ kind: AttackKind) -> Int { lock.withLock { rounds[kind, default: 0] } }
}
#endif
