// One run of the server: from the checks of the directory until its last request.

import DugoutServer
import Foundation
import Synchronization

struct ServeRun {
  private let options: ServeOptions
  private let notes: ServeNotes

  init(_ options: ServeOptions) {
    self.options = options
    notes = ServeNotes(options.configuration.log)
  }

  func run() async throws {
    let result: Result<Void, any Error>
    do { result = .success(try await runWithoutFlush()) } catch { result = .failure(error) }
    await notes.flush()
    try result.get()
  }

  private func runWithoutFlush() async throws {
    // Before the threads of the server have arenas.
    AllocatorLimits.set()
    try checkDirectory()
    let server = try Self.translating { () throws(ServerError) in
      try FirestoreServer(directory: options.directory, configuration: options.configuration)
    }
    for warning in options.warnings + [DescriptorLimit.raise(), Self.warning(options)].compactMap({ $0 }) {
      notes.write(.warning, warning)
    }
    let ready = try options.readyFile.map { try ReadyFile($0) }
    let signals = ServeSignals(reloads: options.configuration.tls != nil)
    let database = try prepareDatabase(server, signals)
    if !signals.isSignaled { try await serve(server, signals, announcing: ready) }
    if let database, let folder = options.exportPath { try export(database, to: folder) }
  }

  private static func warning(_ options: ServeOptions) -> String? {
    guard options.configuration.isEmulator, options.configuration.allowsAnyAddress else { return nil }
    return "Everyone who reaches \(options.configuration.address) can read and delete all documents."
  }

  // MARK: Before

  private func checkDirectory() throws {
    let directory = options.directory
    if StoreFinder.isStore(directory) {
      let place = try ClosedDatabase(ofProject: "my-project", options)
      throw CommandFailure(
        code: .unavailable,
        message:
          "\(directory) is a store, and a server needs a directory of databases. To serve this store, move it "
          + "to NEW\(place.store.dropFirst(directory.count)), with the id of your project, and serve NEW.")
    }
    var isDirectory: ObjCBool = false
    if FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory) {
      guard !isDirectory.boolValue else { return }
      throw CommandFailure(
        code: .unavailable, message: "\(directory) is a file, and a server needs a directory.")
    }
    guard options.configuration.isEmulator || !options.created.isEmpty || options.importPath != nil else {
      throw CommandFailure(
        code: .unavailable,
        message: "there is no directory \(directory). Check the path, or create it with its first database: "
          + "--create 'projects/PROJECT/databases/(default)'")
    }
  }

  /// Creates and imports databases. Returns the one that is exported at the end.
  private func prepareDatabase(_ server: FirestoreServer, _ signals: ServeSignals) throws -> ClosedDatabase? {
    if let folder = options.exportPath {
      try StoreCopy.checkOutside(folder, of: options.directory)
      _ = try EmulatorExport(folder)
    }
    // All names are checked before anything is created.
    let created = try options.created.map { try ClosedDatabase($0, options) }
    var database = try created.first ?? options.project.map { try ClosedDatabase(ofProject: $0, options) }
    if let path = options.importPath, !isFirstOfBoth(path) {
      let source = try DocumentSources.open(path)
      if database == nil, let project = try (source as? FirestoreExport)?.project() {
        database = try ClosedDatabase(ofProject: project, options)
      }
      guard let database else {
        throw CommandFailure(
          code: .usage,
          message: "\(path) does not name its project. Name the one to import into: --project ID.")
      }
      let outcome = try database.importDocuments(of: source, at: path) { signals.isSignaled }
      notes.write(
        .info, "Imported \(Wording.count(outcome.documents, "document")) into \(database.name).")
    }
    for database in created {
      let isNew = !StoreFinder.isStore(database.store)
      _ = try Self.translating { () throws(ServerError) in try server.createDatabase(database.name) }
      if isNew { notes.write(.info, "Created the database \(database.name).") }
    }
    if options.exportPath != nil, database == nil {
      throw CommandFailure(
        code: .usage,
        message: "--export-on-exit needs --project ID, because there is no export to import yet.")
    }
    return database
  }

  /// Whether the folder is also that of the export, which the first run has not written yet.
  private func isFirstOfBoth(_ path: String) -> Bool {
    func resolved(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }
    guard let folder = options.exportPath, resolved(folder) == resolved(path),
      EmulatorExport.firestoreFolder(in: path) == nil
    else { return false }
    notes.write(.info, "\(path) has no export yet: there is nothing to import.")
    return true
  }

  // MARK: Serving

  private func serve(_ server: FirestoreServer, _ signals: ServeSignals, announcing ready: ReadyFile?)
    async throws
  {
    let failure = Mutex<(any Error)?>(nil)
    defer { ready?.remove() }
    signals.receive { [notes] event in
      switch event {
      case .end:
        ready?.remove()
        server.shutDown()
      case .reload: Self.reload(server, notes)
      }
    }
    do {
      try await server.run { addresses in
        do { try ready?.write(addresses) } catch {
          failure.withLock { $0 = error }
          server.shutDown()
          return
        }
        let text = ServeAddress(options.configuration, addresses).text + "\n"
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
      }
    } catch let error as ServerError {
      throw Self.failure(error)
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  private static func reload(_ server: FirestoreServer, _ notes: ServeNotes) {
    do throws(ServerError) {
      try server.reloadCertificate()
      notes.writeUnlessLogged(.info, "The certificate was read again, for new connections.")
    } catch {
      notes.writeUnlessLogged(.error, "The earlier certificate stays: \(error)")
    }
  }

  // MARK: After

  private func export(_ database: ClosedDatabase, to folder: String) throws {
    guard StoreFinder.isStore(database.store) else {
      notes.write(.info, "\(database.name) was never used: there is nothing to export.")
      return
    }
    let outcome = try database.export(to: folder)
    let count = Wording.count(outcome.documents, "document")
    notes.write(.info, "Exported \(count) of \(database.name) to \(folder).")
    guard outcome.undecodable.paths.isEmpty else {
      throw CommandFailure(
        code: .badData,
        message: "documents that cannot be decoded are not in the export: \"dugout check \(database.store)\"")
    }
  }

  // MARK: Errors

  static func translating<Result>(_ body: () throws(ServerError) -> Result) throws -> Result {
    do throws(ServerError) { return try body() } catch { throw failure(error) }
  }

  static func failure(_ error: ServerError) -> CommandFailure {
    CommandFailure(code: code(of: error), message: StoreAccess.ended("\(error)"))
  }

  static func code(of error: ServerError) -> ExitCode {
    switch error {
    case .missingAdminSecret, .unusableAdminSecret, .unencryptedAddress, .exposedEmulator,
      .anyAddressWithoutEmulator, .missingAllowedHosts, .invalidAddress, .invalidPort, .invalidOrigin,
      .invalidHost, .invalidTrustedProxy, .uselessTrustedProxy, .unreachableTrustedProxy, .invalidNumber,
      .invalidDatabase,
      .missingTrait:
      .usage
    case .alreadyRun: .checkFailed
    case .tooManyDatabases, .unusableDirectory, .lockedDatabase, .unusableDatabase, .cannotListen:
      .unavailable
    case .unusableCertificate: .inputOutput
    }
  }
}
