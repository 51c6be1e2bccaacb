// The parts of a server that calls need. Short calls begin on their loop, and all others on a queue.

internal import FirestoreService
internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync
internal import Synchronization

/// The service, and everything else that all calls of a server share.
final class CallRunner: Sendable {
  let service: FirestoreService
  let databases: any DatabaseSource
  let journal: RequestJournal
  let credentials: Credentials
  let streams = OpenStreams()
  private let isEmulator: Bool

  init(_ configuration: ServerConfiguration, _ databases: any DatabaseSource, journal: RequestJournal) {
    self.databases = databases
    self.journal = journal
    credentials = Credentials(configuration)
    isEmulator = configuration.isEmulator
    var options = ServiceOptions()
    options.onRefusal = { journal.metrics.refused($0) }
    service = FirestoreService(options: options) { name throws(RemoteError) in
      do throws(RemoteError) { return try databases.authority(of: name) } catch {
        switch error.code {
        case .invalidArgument: journal.metrics.refused(.databaseName)
        case .resourceExhausted: journal.metrics.refused(.databases)
        default: break
        }
        throw error
      }
    }
  }

  /// The caller as the service knows it. A connection of a proxy is none, because many clients share it.
  /// `fields` are those of the request.
  func metadata(
    _ caller: Caller, _ connection: ConnectionInfo, with fields: HTTPFields = HTTPFields()
  ) -> CallMetadata {
    CallMetadata(
      user: caller.user, connection: connection.isProxy ? nil : connection.number,
      writeIdentity: Self.writeIdentity(fields))
  }

  /// The identity of a commit. Several fields with this name are joined, and the service refuses them.
  private static func writeIdentity(_ fields: HTTPFields) -> String? {
    let all = fields.all(WriteLabels.writeField)
    return all.isEmpty ? nil : all.joined(separator: ", ")
  }

  /// Notes the database of a request for the log, if its name follows the grammar.
  func note(_ name: @autoclosure () -> DatabaseName?, in record: RequestRecord) {
    guard record.isLogged, let name = name() else { return }
    do throws(RemoteError) { record.name(try CheckedDatabase(name, isEmulator: isEmulator)) } catch {
      // The call reports it.
    }
  }

  static let draining = RemoteError(.unavailable, "The server is shutting down.")
}

extension ServiceQueue {
  /// The queue of a response. Calls that neither block nor take long begin at once, on the caller's thread.
  init(of queue: ResponseQueue, for method: ServerMethod) {
    // Each block of a write stream waits for a commit, as those of other commits do.
    if method == .write { queue.setAllShort() }
    self.init { queue.add($0) }
    mayBeginWithinSend = true
    runAside = { queue.runAside($0) }
  }
}

extension GRPCStatus {
  init(_ error: RemoteError?) {
    self = error.map { GRPCStatus(code: $0.code.rawValue, message: $0.message) } ?? .ok
  }
}
