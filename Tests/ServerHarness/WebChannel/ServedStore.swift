// A server in this process over a store in a temporary directory.

#if Server
package import DocumentStore
import FirestoreServer
package import FirestoreWire
import Foundation
import Harness
import ByteStore

/// A server with its store, for as long as `with` runs. Usable from any thread.
package struct ServedStore: Sendable {
  package static let database = DatabaseName(projectID: "demo-channel", databaseID: "(default)")

  package let store: DocumentStore
  package let port: Int
  private let adminPort: Int

  init(store: DocumentStore, _ addresses: ServerAddresses) {
    self.store = store
    port = addresses.port
    adminPort = addresses.adminPort ?? 0
  }

  static func configuration(drainSeconds: Int) -> ServerConfiguration {
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    configuration.port = 0
    configuration.adminPort = 0
    configuration.drainSeconds = drainSeconds
    return configuration
  }

  /// Runs `body` on a thread of its own while the server runs.
  package static func with<Result: Sendable>(
    _ body: @escaping @Sendable (ServedStore) throws -> Result
  ) async throws -> Result {
    let directory = TemporaryDirectory()
    let store = try DocumentStore.open(directory.path)
    defer { try? store.close() }
    let server = try FirestoreServer(
      store: store, database: database.text, configuration: configuration(drainSeconds: 5))
    let outcome = Locked<Swift.Result<Result, any Error>?>(nil)
    try await server.run { addresses in
      let served = ServedStore(store: store, addresses)
      Thread.detachNewThread {
        let result = Swift.Result { try body(served) }
        outcome.withLock { $0 = result }
        server.shutDown()
      }
    }
    guard let result = outcome.withLock({ $0 }) else { throw Violation("the server has ended too early") }
    return try result.get()
  }

  /// The documents of a collection at the top.
  package func documents(in collection: String) throws -> [StoredDocument] {
    try store.documents(StructuredQuery(.collection(CollectionPath(unchecked: [collection]))))
  }

  /// The value of a metric without labels.
  package func metric(_ name: String) throws -> Int {
    let http = LoopbackHTTP("127.0.0.1:\(adminPort)", secondsMax: 10)
    let (_, body) = try http.reply("GET", "/metrics", headers: [], body: [])
    for line in String(decoding: body, as: UTF8.self).split(separator: "\n") where line.hasPrefix("\(name) ")
    {
      if let value = Int(line.dropFirst(name.count + 1)) { return value }
    }
    throw Violation("the server has no metric \(name)")
  }

  /// Waits until the server counts no session. Returns a failure if it still counts some.
  package func leftSessions() throws -> String? {
    let loop = PollLoop()
    var count = 0
    let isDone = try loop.run(seconds: Self.secondsToEnd) {
      count = try metric(Self.openSessions)
      // The server removes a session on its own threads.
      if count > 0 { loop.after(milliseconds: 20) {} }
      return count == 0
    }
    return isDone ? nil : "\(count) sessions are open after all clients have ended"
  }

  private static let openSessions = "dugout_channels_open"
  /// A session of which no client has heard lives for ten seconds.
  private static let secondsToEnd = 30.0
}
#endif
