// The server: from its configuration to its end.
//
//   1. `init` checks the configuration, and `run` listens.
//   2. `shutDown`, or the cancellation of the task that runs the server, begins the drain: new calls are
//      refused, streams end with UNAVAILABLE, and calls that have begun finish.
//   3. While clients of WebChannel fetch results of their writes, the server accepts connections. Then the
//      listeners close, and each connection ends after its requests. The time of the drain bounds both.
//   4. After the drain, the stores that the server has opened are closed, and `run` returns.

internal import Authority
internal import ByteStore
internal import Dispatch
public import DocumentStore
internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync

/// A server that Google's client libraries use as their Firestore.
///
/// ```swift
/// import DocumentStore
/// import DugoutServer
///
/// let store = try DocumentStore.open("shop-data")
/// var configuration = ServerConfiguration()
/// configuration.isEmulator = true
/// let server = try FirestoreServer(store: store, configuration: configuration)
/// let running = Task { try await server.run { print("listening on port \($0.port)") } }
/// ```
///
/// The server runs until its task is cancelled, or until `shutDown()`. Needs the trait `Server` of the
/// package.
public final class FirestoreServer: Sendable {
  private struct State {
    var hasRun = false
    var isStopping = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let configuration: ServerConfiguration
  private let databases: any DatabaseSource
  private let handler: FirestoreHandler
  private let journal: RequestJournal
  private let tls: TLSContext?
  private let state = Locked(State())

  /// Creates a server of one store, which the caller closes after the server has ended. `database` is its
  /// name for clients.
  ///
  /// Throws if the configuration is not safe or not valid, or if the store cannot be served.
  public convenience init(
    store: DocumentStore, database: String = "projects/demo/databases/(default)",
    configuration: ServerConfiguration = ServerConfiguration()
  ) throws(ServerError) {
    let name = try Self.parsed(database, isEmulator: true).name
    let authority: Authority
    do throws(DocumentStoreError) { authority = try Authority.of(store) } catch {
      throw .unusableDatabase(database, reason: error.description)
    }
    try self.init(
      SingleDatabase(OpenDatabase(name: name, store: store, authority: authority)), configuration,
      journal: RequestJournal(configuration.log))
  }

  /// Creates a server of the databases in a directory, with a store for each. It creates the directory unless
  /// it exists. An emulator creates databases when clients first name them; `createDatabase` creates them for
  /// other servers.
  ///
  /// Throws if the configuration is not safe or not valid, or if the directory cannot be used.
  public convenience init(
    directory: String, configuration: ServerConfiguration = ServerConfiguration()
  ) throws(ServerError) {
    // Nothing is written for a configuration that is refused.
    _ = try configuration.check()
    let journal = RequestJournal(configuration.log)
    let databases = try DatabaseFolder(
      directory, isEmulator: configuration.isEmulator, databasesMax: configuration.databasesMax
    ) { error in
      journal.note(.error, "database_failed", with: [("reason", .text(error.description))])
    }
    try self.init(databases, configuration, journal: journal)
  }

  private init(
    _ databases: any DatabaseSource, _ configuration: ServerConfiguration, journal: RequestJournal
  ) throws(ServerError) {
    self.configuration = configuration
    self.databases = databases
    self.journal = journal
    handler = try FirestoreHandler(
      configuration, databases, journal: journal)
    do throws(TransportError) {
      tls = try configuration.tls.map { files throws(TransportError) in
        try TLSContext(certificateFile: files.certificate, keyFile: files.key)
      }
    } catch {
      throw ServerError(error)
    }
  }

  private static func parsed(_ name: String, isEmulator: Bool) throws(ServerError) -> CheckedDatabase {
    do throws(RemoteError) {
      return try CheckedDatabase(try DatabaseName(name), isEmulator: isEmulator)
    } catch {
      throw .invalidDatabase(name, reason: error.message)
    }
  }

  // MARK: Databases

  /// Creates a database in the directory of the server, as in `projects/my-project/databases/(default)`.
  /// Returns false if it exists already. Throws `invalidDatabase` if the server serves one store.
  @discardableResult
  public func createDatabase(_ name: String) throws(ServerError) -> Bool {
    guard let folder = databases as? DatabaseFolder else {
      throw .invalidDatabase(name, reason: "the server serves one store, so it cannot have others")
    }
    return try folder.create(try Self.parsed(name, isEmulator: configuration.isEmulator).name)
  }

  /// The directory of a database's store, in the directory of a server.
  public static func storePath(of database: String, in directory: String) throws(ServerError) -> String {
    try parsed(database, isEmulator: true).path(in: directory)
  }

  // MARK: Running

  /// Listens until the task is cancelled or `shutDown()` is called. Then ends as described above, and
  /// returns. `onReady` is called with the ports when the server listens.
  ///
  /// Throws if the server cannot listen. A server runs once.
  public func run(onReady: @escaping @Sendable (ServerAddresses) -> Void = { _ in }) async throws {
    let isFirst = state.withLock { state in
      defer { state.hasRun = true }
      return !state.hasRun
    }
    guard isFirst else { throw ServerError.alreadyRun }
    defer { databases.close() }
    let transport = try start(onReady)
    await stopped()
    journal.note(.info, "draining", with: [("seconds", .integer(UInt64(configuration.drainSeconds)))])
    await drain(transport)
    journal.note(.info, "stopped")
    await journal.log.flush()
  }

  /// Begins the end of the server. `run` returns when it is complete.
  public func shutDown() {
    let waiting = state.withLock { state in
      state.isStopping = true
      return state.waiting.take()
    }
    waiting?.resume()
  }

  /// Reads the certificate and its key again, for connections that come later. If that fails, the server goes
  /// on with the old ones.
  public func reloadCertificate() throws(ServerError) {
    do throws(TransportError) { try tls?.reload() } catch {
      let failure = ServerError(error)
      journal.note(.error, "certificate_failed", with: [("reason", .text(failure.description))])
      throw failure
    }
    if tls != nil { journal.note(.info, "certificate_reloaded") }
  }

  private func start(_ onReady: @Sendable (ServerAddresses) -> Void) throws(ServerError) -> HTTPServer {
    let (address, _) = try configuration.check()
    let proxies = try TrustedProxies(configuration, listeningOn: address)
    do throws(TransportError) {
      let server = try HTTPServer(options(proxies), handler: handler, observer: journal)
      let ports = try server.start()
      let addresses = ServerAddresses(
        port: ports[0], adminPort: ports.count > FirestoreHandler.adminListener ? ports[1] : nil)
      note(addresses, configuration.warnings(address) + (tls?.warnings ?? []))
      onReady(addresses)
      return server
    } catch {
      throw ServerError(error)
    }
  }

  private func options(_ proxies: TrustedProxies) -> HTTPServerOptions {
    func listen(_ host: String, _ port: Int, isEncrypted: Bool) -> ListenAddress {
      ListenAddress(host: host == "localhost" ? "127.0.0.1" : host, port: port, isEncrypted: isEncrypted)
    }
    var addresses = [listen(configuration.address, configuration.port, isEncrypted: tls != nil)]
    if let port = configuration.adminPort {
      addresses.append(listen(configuration.adminAddress, port, isEncrypted: false))
      addresses[FirestoreHandler.adminListener].hasReserve = true
    }
    var options = HTTPServerOptions(addresses)
    options.tls = tls
    options.isProxy = { proxies.contains($0) }
    return options
  }

  private func note(_ addresses: ServerAddresses, _ warnings: [String]) {
    var fields: ServerLog.Fields = [
      ("address", .text(configuration.address)), ("port", .integer(UInt64(addresses.port))),
      ("encrypted", .text(tls == nil ? "no" : "yes")),
      ("emulator", .text(configuration.isEmulator ? "yes" : "no")),
    ]
    if let port = addresses.adminPort { fields.append(("admin_port", .integer(UInt64(port)))) }
    journal.note(.info, "listening", with: fields)
    for warning in warnings { journal.note(.warning, "warning", with: [("text", .text(warning))]) }
    if let folder = databases as? DatabaseFolder, folder.isEmpty, !configuration.isEmulator {
      journal.note(
        .warning, "warning",
        with: [("text", .text("the directory has no database: create one (--create NAME)"))])
    }
  }

  /// Waits for the end of the task or `shutDown`.
  private func stopped() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isStopping = state.withLock { state in
          if !state.isStopping { state.waiting = continuation }
          return state.isStopping
        }
        if isStopping { continuation.resume() }
      }
    } onCancel: {
      shutDown()
    }
  }

  private func drain(_ transport: HTTPServer) async {
    handler.drain()
    let end = Self.now + UInt64(configuration.drainSeconds) * 1_000_000_000
    await withCheckedContinuation { continuation in
      // The transport waits for its threads.
      DispatchQueue.global().async { [handler] in
        handler.waitUntilDelivered(nanoseconds: Self.rest(until: end))
        transport.drain(nanoseconds: Self.rest(until: end)) { handler.endSessions() }
        continuation.resume()
      }
    }
  }

  private static var now: UInt64 { MonotonicClock.system.now() }

  private static func rest(until end: UInt64) -> UInt64 {
    let now = now
    return end > now ? end - now : 0
  }
}

extension ServerError {
  init(_ error: TransportError) {
    self =
      switch error {
      case .missingTrait(let trait): .missingTrait(trait)
      case .certificate: .unusableCertificate(reason: error.description)
      case .address, .system: .cannotListen(reason: error.description)
      }
  }
}
