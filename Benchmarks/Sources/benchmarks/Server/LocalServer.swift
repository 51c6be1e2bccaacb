// The server in this process.

#if Server
import DocumentStore
import DugoutServer
import Foundation
import GRPCClients

final class LocalServer: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: nothing is assigned after initialization.
  let store: DocumentStore
  let port: Int
  private let server: FirestoreServer

  init(_ directory: String) throws {
    store = try DocumentStore.open(directory)
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    configuration.port = 0
    server = try FirestoreServer(
      store: store, database: FirestoreMessages.database, configuration: configuration)
    let ready = DispatchSemaphore(value: 0)
    let chosen = ChosenPort()
    Task { [server] in
      do {
        try await server.run { addresses in
          chosen.port = addresses.port
          ready.signal()
        }
      } catch {
        Progress.say("the server does not run: \(error)")
        ready.signal()
      }
    }
    ready.wait()
    guard let port = chosen.port else { throw BenchmarkFailure("the server does not run") }
    self.port = port
  }
}

/// Written before the semaphore is signalled, and read after that.
private final class ChosenPort: @unchecked Sendable {
  var port: Int?
}

extension GRPCClient {
  convenience init(rows port: Int) throws {
    try self.init(port: port, options: GRPCClientOptions(metadata: FirestoreMessages.metadata))
  }

  /// Calls a method that must succeed.
  @discardableResult
  func answer(_ method: String, _ request: [UInt8]) throws -> [UInt8] {
    let reply = call(FirestoreMessages.service + method, request)
    guard reply.end.isOK, let message = reply.messages.first else {
      throw BenchmarkFailure("\(method) ends with \(reply.end)")
    }
    return message
  }
}
#endif
