// Counts requests and writes them to the log.

internal import ByteStore
internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync
internal import Synchronization

/// The metrics and the log of a server.
final class RequestJournal: Sendable {
  let metrics = ServerMetrics()
  let log: ServerLog
  let clock: any StoreClock
  /// Begins the ids of all requests, so that they differ from those of earlier processes.
  private let prefix: String
  private let lastNumber = Atomic<UInt64>(0)

  init(_ log: ServerLog, clock: any StoreClock = SystemClock(), random: any RandomSource = SystemRandom()) {
    self.log = log
    self.clock = clock
    let digits = String(UInt32(truncatingIfNeeded: random.randomID().high), radix: 16)
    prefix = String(repeating: "0", count: 8 - digits.count) + digits + "-"
  }

  /// A new request id.
  func nextID() -> UInt64 { lastNumber.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The text of a request id, in answers and in the log.
  func text(ofID number: UInt64) -> String { prefix + String(number, radix: 16) }

  var hasLog: Bool { log.isOn }

  /// Writes a line about something other than a request.
  func note(_ level: LogLevel, _ event: String, with fields: ServerLog.Fields = []) {
    log.line(level, event, fields: fields, at: clock.wallMicroseconds())
  }

  /// Counts and logs a request that was refused before it was a call.
  func refused(_ refusal: ServerRefusal, _ connection: ConnectionInfo) {
    metrics.refused(refusal)
    guard hasLog else { return }
    note(
      .warning, "refused",
      with: [
        ("reason", .text(refusal.rawValue)), ("connection", .integer(connection.number)),
        ("peer", .text(connection.peer)),
      ])
  }
}

extension RequestJournal: TransportObserver {
  func connectionOpened(_ connection: ConnectionInfo) {
    metrics.connections.add()
    metrics.openConnections.add(1)
  }

  func connectionClosed(_ connection: ConnectionInfo) { metrics.openConnections.add(-1) }

  func refused(_ refusal: HTTPTransport.Refusal, _ connection: ConnectionInfo, detail: String) {
    metrics.refused(refusal)
    guard hasLog else { return }
    note(
      .warning, "refused",
      with: [
        ("reason", .text(refusal.rawValue)), ("detail", .text(detail)),
        ("connection", .integer(connection.number)), ("peer", .text(connection.peer)),
      ])
  }
}
