// A server that a test stops and starts again, over the same files and at the same port.

import ByteStore
import DocumentStore
import FirestoreServer
import Foundation
import Harness

#if Server
final class RestartedServer: Sendable {
  private struct Run {
    let server: FirestoreServer
    let store: DocumentStore
    var port: Int?
    var isOver = false
  }

  private let directory: String
  private let run = Locked<Run?>(nil)
  private let lastPort = Locked(0)

  /// The token that the server wants; nil for an emulator.
  private let secret: String?

  init(in directory: String, secret: String? = nil) {
    self.directory = directory
    self.secret = secret
  }

  /// Starts the server, and returns its port.
  func start() throws -> Int {
    let store = try DocumentStore.open(directory)
    var configuration = ServerConfiguration()
    configuration.isEmulator = secret == nil
    configuration.adminSecret = secret
    configuration.port = lastPort.withLock { $0 }
    configuration.adminPort = nil
    configuration.drainSeconds = 0
    let server = try FirestoreServer(
      store: store, database: "projects/demo-channel/databases/(default)", configuration: configuration)
    run.withLock { $0 = Run(server: server, store: store) }
    Task { [run] in
      try? await server.run { addresses in
        run.withLock { $0?.port = addresses.port }
        run.wakeAll()
      }
      run.withLock { $0?.isOver = true }
      run.wakeAll()
    }
    let port = run.withLock(when: { $0?.port != nil || $0?.isOver == true }) { $0?.port }
    guard let port else { throw Violation("the server has ended at its start") }
    lastPort.withLock { $0 = port }
    return port
  }

  func stop() throws {
    run.withLock { $0 }?.server.shutDown()
    let store = run.withLock(when: { $0?.isOver ?? true }) { $0?.store }
    try store?.close()
  }
}
#endif
