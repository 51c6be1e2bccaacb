// Serves the database of the backend by Firestore's protocol, to clients that keep a part of it offline.
//
//   BACKEND_SECRET        the secret of the clients, at least 16 characters; without it, there is no sync
//   BACKEND_SYNC_PORT     the port; by default any free port
//   BACKEND_CERTIFICATE   the file of a certificate. Without one, connections are not encrypted, and only
//                         clients of this machine can connect
//   BACKEND_KEY           the file of its key
//   BACKEND_HOST          the name by which clients address the server, if it is not one of this machine
//
// There are no access rules yet, so a client with the secret may read and write everything.

import Authority
import DugoutServer
import FirebaseFirestore
import Foundation

struct SyncServer: Sendable {
  private static let database = "projects/notes/databases/(default)"

  let port: Int
  private let server: FirestoreServer
  private let running: Task<Void, any Error>

  /// Starts to serve the database; nil without a secret. The handlers of this program use the database as
  /// before: they see the writes of clients, and clients see theirs.
  static func start(over firestore: Firestore, address: String) async throws -> SyncServer? {
    guard let configuration = try configuration(address) else { return nil }
    guard let store = try await firestore.authority().store else { return nil }
    let server = try FirestoreServer(store: store, database: database, configuration: configuration)
    let (ports, ready) = AsyncStream<Int>.makeStream()
    let running = Task {
      defer { ready.finish() }
      try await server.run { ready.yield($0.port) }
    }
    for await port in ports { return SyncServer(port: port, server: server, running: running) }
    // The server could not listen.
    try await running.value
    return nil
  }

  private static func configuration(_ address: String) throws -> ServerConfiguration? {
    let environment = ProcessInfo.processInfo.environment
    guard let secret = environment["BACKEND_SECRET"] else { return nil }
    var configuration = ServerConfiguration()
    configuration.adminSecret = secret
    configuration.port = Int(environment["BACKEND_SYNC_PORT"] ?? "0") ?? -1
    configuration.drainSeconds = 8
    if let certificate = environment["BACKEND_CERTIFICATE"], let key = environment["BACKEND_KEY"] {
      configuration.tls = TLSFiles(certificate: certificate, key: key)
      configuration.address = address
      configuration.allowedHosts = environment["BACKEND_HOST"].map { [$0] } ?? []
    }
    return configuration
  }

  /// Completes the writes that clients have sent, and returns when all connections have ended.
  func stop() async throws {
    server.shutDown()
    try await running.value
  }
}
