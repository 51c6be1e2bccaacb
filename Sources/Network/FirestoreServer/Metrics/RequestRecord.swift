// One request, from its first byte to its end.

internal import ByteStore
internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync
internal import Synchronization

/// Measures a request. Usable from any thread.
final class RequestRecord: Sendable {
  private let journal: RequestJournal
  private let number: UInt64
  private let connection: ConnectionInfo
  private let way: ServerProtocol
  private let begin: UInt64
  private let method: Atomic<Int>
  /// Nil if there is no log, which alone needs it.
  private let database: Locked<DatabaseName?>?
  private let bytesReceived = Atomic<UInt64>(0)
  private let bytesSent = Atomic<UInt64>(0)
  private let isOver = Atomic<Bool>(false)

  init(_ journal: RequestJournal, _ connection: ConnectionInfo, by way: ServerProtocol, method: ServerMethod)
  {
    self.journal = journal
    self.connection = connection
    self.way = way
    number = journal.nextID()
    begin = journal.clock.monotonicNanoseconds()
    self.method = Atomic(method.rawValue)
    database = journal.hasLog ? Locked(nil) : nil
    journal.metrics.openRequests.add(1)
  }

  /// The id of the request, in its answer and in the log.
  var id: String { journal.text(ofID: number) }

  /// Whether details of the request are of use.
  var isLogged: Bool { journal.hasLog }

  /// Names the method, when the request has been read.
  func name(_ method: ServerMethod) { self.method.store(method.rawValue, ordering: .relaxed) }

  /// Names the database, whose name follows the grammar.
  func name(_ database: CheckedDatabase) { self.database?.withLock { $0 = database.name } }

  func received(_ bytes: Int) {
    bytesReceived.wrappingAdd(UInt64(clamping: bytes), ordering: .relaxed)
    journal.metrics.bytesReceived.add(UInt64(clamping: bytes))
  }

  func sent(_ bytes: Int) {
    bytesSent.wrappingAdd(UInt64(clamping: bytes), ordering: .relaxed)
    journal.metrics.bytesSent.add(UInt64(clamping: bytes))
  }

  /// Ends the request with a status. Only the first call counts.
  func end(_ error: RemoteError?) { end(code: error?.code.rawValue ?? 0) }

  /// Ends the request with the number of a status of gRPC.
  func end(code: Int) {
    guard !isOver.exchange(true, ordering: .relaxed) else { return }
    let nanoseconds = journal.clock.monotonicNanoseconds() &- begin
    let method = ServerMethod(rawValue: method.load(ordering: .relaxed)) ?? .unknown
    journal.metrics.openRequests.add(-1)
    journal.metrics.ended(method, by: way, code: code, nanoseconds: nanoseconds)
    if journal.hasLog { log(method, code, nanoseconds: nanoseconds) }
  }

  private func log(_ method: ServerMethod, _ code: Int, nanoseconds: UInt64) {
    var fields: ServerLog.Fields = [
      ("request", .text(id)), ("connection", .integer(connection.number)), ("peer", .text(connection.peer)),
      ("protocol", .text(way.name)), ("method", .text(method.name)),
    ]
    if let database = database?.withLock({ $0 }) { fields.append(("database", .text(database.text))) }
    fields += [
      ("code", .text(StatusName.of(code))), ("seconds", .duration(nanoseconds)),
      ("bytes_received", .integer(bytesReceived.load(ordering: .relaxed))),
      ("bytes_sent", .integer(bytesSent.load(ordering: .relaxed))),
    ]
    journal.note(Self.level(code), "request", with: fields)
  }

  private static func level(_ code: Int) -> LogLevel {
    switch RemoteError.Code(rawValue: code) {
    case .internal, .unknown, .dataLoss: .error
    case .unavailable, .resourceExhausted, .unauthenticated, .permissionDenied: .warning
    default: .info
    }
  }
}
