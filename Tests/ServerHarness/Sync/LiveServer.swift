// A server in this process that a test starts, stops and kills.

#if Server
package import Authority
import ByteStore
package import DocumentStore
import FirestoreServer
import Foundation
import Harness

/// A server over a store, which it closes when it stops. Usable from any thread.
package final class LiveServer: Sendable {
  package static let project = "demo-sync"
  static let database = "projects/\(project)/databases/(default)"
  private static let secondsMax = 20.0

  package let store: DocumentStore
  /// Its rules last for as long as it lives.
  private let authority: Authority
  private let server: FirestoreServer
  private let outcome = Locked<(port: Int?, hasEnded: Bool, error: String?)>((nil, false, nil))

  /// Starts a server, and waits until it listens.
  package init(_ store: DocumentStore, rules: AuthorityRules, drainSeconds: Int = 0) throws {
    self.store = store
    authority = try Authority.of(store)
    authority.setRules(rules)
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    configuration.port = 0
    configuration.drainSeconds = drainSeconds
    server = try FirestoreServer(store: store, database: Self.database, configuration: configuration)
    Task.detached(executorPreference: ServerThreads()) { [server, outcome] in
      do {
        try await server.run { addresses in outcome.withLock { $0.port = addresses.port } }
      } catch {
        outcome.withLock { $0.error = "\(error)" }
      }
      outcome.withLock { $0.hasEnded = true }
    }
    try wait { $0.port != nil || $0.hasEnded }
    if let error = outcome.withLock({ $0.error }) { throw Violation("the server does not start: \(error)") }
  }

  package func setRules(_ rules: AuthorityRules) { authority.setRules(rules) }

  package var port: Int { outcome.withLock { $0.port ?? 0 } }

  /// Ends the server as its operator does, and closes its store.
  package func stop() throws {
    server.shutDown()
    try wait { $0.hasEnded }
    try store.close()
  }

  private func wait(
    until isDone: @Sendable ((port: Int?, hasEnded: Bool, error: String?)) -> Bool
  ) throws {
    let end = Date().addingTimeInterval(Self.secondsMax)
    while !outcome.withLock({ isDone($0) }) {
      guard Date() < end else { throw Violation("the server neither starts nor ends") }
      Thread.sleep(forTimeInterval: 0.001)
    }
  }
}
#endif
