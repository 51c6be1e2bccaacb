// The server on real sockets: from its start to its end.

import ByteStore
import DocumentStore
import Foundation
import Harness
import Testing

@testable import FirestoreServer

#if Server
@Suite struct FirestoreServerTests {
  private static let document = "/v1/\(TestServer.documents)/rooms/a"

  private var configuration: ServerConfiguration {
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    configuration.port = 0
    configuration.adminPort = 0
    configuration.drainSeconds = 5
    return configuration
  }

  @Test func answersUntilItsTaskIsCancelled() async throws {
    let store = try DocumentStore.openInMemory()
    let lines = LogLines()
    var configuration = configuration
    configuration.log = ServerLog(format: .text, write: lines.append)
    let server = try FirestoreServer(
      store: store, database: TestServer.database, configuration: configuration)
    try await server.whileRunning { addresses throws in
      #expect(try RawClient.send("GET", "/", to: addresses.port).hasSuffix("Ok\n"))
      #expect(try RawClient.send("PATCH", Self.document, "{}", to: addresses.port).hasPrefix("HTTP/1.1 200"))
      #expect(try RawClient.send("GET", "/", host: "evil.com", to: addresses.port).hasPrefix("HTTP/1.1 403"))
      let adminPort = try #require(addresses.adminPort)
      #expect(try RawClient.send("GET", "/readyz", to: adminPort).hasSuffix("ready\n"))
      let metrics = try RawClient.send("GET", "/metrics", to: adminPort)
      #expect(
        metrics.contains(#"dugout_requests_total{method="UpdateDocument",protocol="rest",code="OK"} 1"#))
      #expect(metrics.contains("dugout_connections_open 1"))
    }
    // The store of the app stays open.
    #expect(store.count == 1)
    #expect(lines.all.contains { $0.contains("listening") })
    #expect(lines.all.last?.hasSuffix("stopped") == true)
    await #expect(throws: ServerError.alreadyRun) { try await server.run() }
  }

  /// Nothing reads the log, and what is after it waits for the log for a second at most.
  @Test func aLogThatBlocksStopsNothing() async throws {
    let gate = Locked(false)
    let blocked = Locked(false)
    var configuration = configuration
    configuration.log = ServerLog(format: .json) { _ in
      blocked.withLock { $0 = true }
      blocked.wakeAll()
      gate.withLock(when: { $0 }) { _ in }
    }
    let server = try FirestoreServer(
      store: try .openInMemory(), database: TestServer.database, configuration: configuration)
    try await server.whileRunning { addresses throws in
      blocked.withLock(when: { $0 }) { _ in }
      #expect(try RawClient.send("PATCH", Self.document, "{}", to: addresses.port).hasPrefix("HTTP/1.1 200"))
      let adminPort = try #require(addresses.adminPort)
      #expect(try RawClient.send("GET", "/healthz", to: adminPort).hasPrefix("HTTP/1.1 200"))
    }
    gate.withLock { $0 = true }
    gate.wakeAll()
  }

  @Test func shutDownEndsTheServer() async throws {
    let server = try FirestoreServer(store: try .openInMemory(), configuration: configuration)
    try await server.run { _ in server.shutDown() }
    let other = try FirestoreServer(store: try .openInMemory(), configuration: configuration)
    other.shutDown()
    try await other.run()
  }

  @Test func documentsOutliveTheServer() async throws {
    let directory = TemporaryDirectory()
    let first = try FirestoreServer(directory: directory.path, configuration: configuration)
    try await first.whileRunning { addresses throws in
      let body = #"{"fields":{"n":{"integerValue":"7"}}}"#
      #expect(try RawClient.send("PATCH", Self.document, body, to: addresses.port).hasPrefix("HTTP/1.1 200"))
    }
    #expect(
      try FirestoreServer.storePath(of: TestServer.database, in: directory.path) == directory.path
        + "/demo-shop/_default")
    let second = try FirestoreServer(directory: directory.path, configuration: configuration)
    try await second.whileRunning { addresses throws in
      #expect(try RawClient.send("GET", Self.document, to: addresses.port).contains(#""integerValue":"7""#))
    }
  }

  @Test func aPortInUseIsAnError() async throws {
    let server = try FirestoreServer(store: try .openInMemory(), configuration: configuration)
    let configuration = configuration
    try await server.whileRunning { addresses throws in
      var taken = configuration
      taken.port = addresses.port
      let other = try FirestoreServer(store: try .openInMemory(), configuration: taken)
      let failed = Locked<(any Error)?>(nil)
      Task {
        do { try await other.run() } catch {
          failed.withLock { $0 = error }
          failed.wakeAll()
        }
      }
      let error = failed.withLock(when: { $0 != nil }) { $0 as? ServerError }
      guard case .cannotListen(let reason)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(reason.contains("\(addresses.port)"))
    }
  }

  @Test func aSecuredServerCreatesDatabasesOnlyIfAsked() async throws {
    let directory = TemporaryDirectory()
    var configuration = configuration
    configuration.isEmulator = false
    configuration.adminSecret = TestServer.secret
    let server = try FirestoreServer(directory: directory.path, configuration: configuration)
    #expect(try server.createDatabase("projects/my-project/databases/(default)"))
    #expect(try !server.createDatabase("projects/my-project/databases/(default)"))
    #expect(throws: ServerError.self) { try server.createDatabase("projects/p/databases/(default)") }
    #expect(throws: ServerError.self) { try server.createDatabase("../../x") }
    try await server.whileRunning { addresses throws in
      let path = "/v1/projects/my-project/databases/(default)/documents/rooms/a"
      let port = addresses.port
      #expect(try RawClient.send("PATCH", path, "{}", to: port).hasPrefix("HTTP/1.1 401"))
      #expect(
        try RawClient.send("PATCH", path, "{}", secret: TestServer.secret, to: port).hasPrefix("HTTP/1.1 200")
      )
      let other = try RawClient.send("PATCH", Self.document, "{}", secret: TestServer.secret, to: port)
      #expect(other.hasPrefix("HTTP/1.1 404"))
    }
    #expect(try directory.names == ["my-project"])
  }
}
#endif

@Suite struct ServerInitializerTests {
  @Test func unsafeConfigurationsTouchNothing() throws {
    let directory = TemporaryDirectory()
    #expect(throws: ServerError.missingAdminSecret) { try FirestoreServer(directory: directory.path) }
    #expect(!directory.exists)
  }

  @Test func filesAreNoDirectories() throws {
    let directory = TemporaryDirectory()
    try directory.create()
    try directory.write([1], to: "file")
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    #expect(throws: ServerError.self) {
      try FirestoreServer(directory: directory.path + "/file", configuration: configuration)
    }
  }

  @Test func aMissingCertificateIsNamed() throws {
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    configuration.tls = TLSFiles(certificate: "/none/certificate.pem", key: "/none/key.pem")
    do {
      _ = try FirestoreServer(store: try .openInMemory(), configuration: configuration)
      Issue.record("accepted files that do not exist")
    } catch let error as ServerError {
      #if TLS
      #expect(error.description.contains("/none/"))
      #else
      #expect(error == .missingTrait("TLS"))
      #endif
    }
  }

  #if !Server
  @Test func withoutTheTraitTheServerSaysSo() async throws {
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    let server = try FirestoreServer(store: try .openInMemory(), configuration: configuration)
    await #expect(throws: ServerError.missingTrait("Server")) { try await server.run() }
  }
  #endif
}
