// A server over a directory, with a store for each database.
//
// Invariants:
//   - `known` has the paths of all stores in the directory, as far as this process knows them, and of those
//     that are being created. There are at most `databasesMax`.
//   - A database is in `open` from its first use until the server closes.

internal import Authority
internal import ByteStore
internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// Opens the databases of a directory when requests first name them.
final class DatabaseFolder: DatabaseSource {
  private struct State {
    var known: Set<String> = []
    var open: [DatabaseName: OpenDatabase] = [:]
    var isClosed = false
  }

  let path: String
  private let isEmulator: Bool
  private let databasesMax: Int
  private let platform: Platform
  /// Takes the reason why a store could not be opened, for the log.
  private let report: @Sendable (ServerError) -> Void
  private let state = Locked(State())
  /// Lets one thread open a store at a time. Opening is rare, and counting is simpler so.
  private let turn = Locked(UInt8(0))
  private let options = DocumentStore.Options()

  /// Creates the directory unless it exists, and counts the stores in it.
  init(
    _ path: String, isEmulator: Bool, databasesMax: Int, platform: Platform = .real,
    report: @escaping @Sendable (ServerError) -> Void
  ) throws(ServerError) {
    self.path = path
    self.isEmulator = isEmulator
    self.databasesMax = databasesMax
    self.platform = platform
    self.report = report
    let known = try Self.stores(in: path, platform)
    state.withLock { $0.known = known }
  }

  private static func stores(in path: String, _ platform: Platform) throws(ServerError) -> Set<String> {
    let found: Set<String>?
    do throws(SystemFailure) { found = try storesUnlessStore(in: path, platform) } catch {
      throw .unusableDirectory(path, reason: error.description)
    }
    guard let found else {
      throw .unusableDirectory(
        path, reason: "it is a database itself. Use the directory in which the server keeps its databases")
    }
    return found
  }

  /// The paths of the stores in a directory; nil if the directory is itself one.
  private static func storesUnlessStore(
    in path: String, _ platform: Platform
  ) throws(SystemFailure) -> Set<String>? {
    try platform.fileSystem.createDirectory(path)
    let directory = try platform.fileSystem.openDirectory(path)
    let projects = try directory.names()
    guard !projects.contains(StoreFile.manifest) else { return nil }
    var stores: Set<String> = []
    for project in projects where DatabaseGrammar.isEmulatorID(project) {
      guard try directory.kind(of: project) != .file else { continue }
      let projectPath = "\(path)/\(project)"
      for store in try platform.fileSystem.openDirectory(projectPath).names()
      where CheckedDatabase.isStoreName(store) {
        stores.insert("\(projectPath)/\(store)")
      }
    }
    return stores
  }

  // MARK: Finding

  func authority(of name: DatabaseName) throws(RemoteError) -> Authority {
    let database = try CheckedDatabase(name, isEmulator: isEmulator)
    if let open = state.withLock({ $0.open[name] }) { return open.authority }
    return try turn.withLock { _ throws(RemoteError) in
      if let open = state.withLock({ $0.open[name] }) { return open.authority }
      return try open(database, creates: isEmulator).authority
    }
  }

  /// Whether the directory has no database.
  var isEmpty: Bool { state.withLock { $0.known.isEmpty } }

  var openDatabases: [OpenDatabase] {
    state.withLock { Array($0.open.values) }.sorted { $0.name.text < $1.name.text }
  }

  /// Opens a store, or creates it. Called by one thread at a time.
  private func open(_ database: CheckedDatabase, creates: Bool) throws(RemoteError) -> OpenDatabase {
    let storePath = database.path(in: path)
    let isKnown = try reserve(storePath, creates: creates)
    do throws(RemoteError) {
      let opened = try opened(database, at: storePath, creates: creates)
      let isClosed = state.withLock { state in
        if !state.isClosed {
          state.known.insert(storePath)
          state.open[database.name] = opened
        }
        return state.isClosed
      }
      guard !isClosed else {
        try? opened.store.close()
        throw Self.closed
      }
      return opened
    } catch {
      if !isKnown { state.withLock { _ = $0.known.remove(storePath) } }
      throw error
    }
  }

  /// Makes room for a store. Returns whether it is known already.
  private func reserve(_ storePath: String, creates: Bool) throws(RemoteError) -> Bool {
    try state.withLock { state throws(RemoteError) in
      guard !state.isClosed else { throw Self.closed }
      if state.known.contains(storePath), state.open.count < databasesMax { return true }
      guard state.known.count < databasesMax else {
        throw RemoteError(
          .resourceExhausted, "The server has \(databasesMax) databases, which is the limit (databasesMax).")
      }
      if creates { state.known.insert(storePath) }
      return false
    }
  }

  private func opened(
    _ database: CheckedDatabase, at storePath: String, creates: Bool
  ) throws(RemoteError) -> OpenDatabase {
    var options = options
    options.createsIfMissing = creates
    do throws(DocumentStoreError) {
      let store = try DocumentStore.open(storePath, options: options, platform: platform)
      do throws(DocumentStoreError) {
        return OpenDatabase(name: database.name, store: store, authority: try Authority.of(store))
      } catch {
        try? store.close()
        throw error
      }
    } catch {
      if case .notAStore = error {} else { report(Self.serverError(error, database)) }
      throw Self.error(error, database)
    }
  }

  private static func serverError(_ error: DocumentStoreError, _ database: CheckedDatabase) -> ServerError {
    if case .locked = error { return .lockedDatabase(database.name.text, reason: error.description) }
    return .unusableDatabase(database.name.text, reason: error.description)
  }

  /// The error of a store that cannot be opened, without its path, which is not for clients.
  private static func error(_ error: DocumentStoreError, _ database: CheckedDatabase) -> RemoteError {
    let name = database.name.text
    switch error {
    case .notAStore:
      return RemoteError(.notFound, "The database \(name) does not exist. An admin has to create it.")
    case .locked:
      return RemoteError(.unavailable, "The database \(name) is in use by another process.")
    case .full: return RemoteError(.resourceExhausted, "The disk of the database \(name) is full.")
    case .corrupted: return RemoteError(.dataLoss, "The database \(name) is damaged.")
    default:
      return RemoteError(
        .unavailable, "The database \(name) cannot be opened. The log of the server has the reason.")
    }
  }

  private static let closed = RemoteError(.unavailable, "The server is shutting down.")

  // MARK: Creating

  /// Creates a database. Returns false if it exists already.
  func create(_ name: DatabaseName) throws(ServerError) -> Bool {
    let database: CheckedDatabase
    do throws(RemoteError) { database = try CheckedDatabase(name, isEmulator: isEmulator) } catch {
      throw .invalidDatabase(name.text, reason: error.message)
    }
    return try turn.withLock { _ throws(ServerError) in
      let isKnown = state.withLock { $0.known.contains(database.path(in: path)) }
      guard !state.withLock({ $0.open[name] != nil }) else { return false }
      do throws(RemoteError) { _ = try open(database, creates: true) } catch {
        switch error.code {
        case .resourceExhausted: throw .tooManyDatabases(max: databasesMax)
        default: throw .unusableDatabase(name.text, reason: error.message)
        }
      }
      return !isKnown
    }
  }

  // MARK: Closing

  func close() {
    let open = state.withLock { state in
      state.isClosed = true
      defer { state.open = [:] }
      return state.open.values.map(\.store)
    }
    for store in open { try? store.close() }
  }
}
