// A database of the server's directory, while the server does not have it open: imports and exports.

import ByteStore
import DocumentStore
import DugoutServer
import Foundation

struct ClosedDatabase {
  /// Such as `projects/shop/databases/(default)`.
  let name: String
  let project: String
  /// The directory of the server.
  let directory: String
  /// The directory of the database's store.
  let store: String

  init(_ name: String, _ options: ServeOptions) throws {
    self.name = name
    directory = options.directory
    store = try ServeRun.translating { () throws(ServerError) in
      try options.configuration.storeDirectory(of: name, in: options.directory)
    }
    let parts = name.split(separator: "/")
    project = parts.count > 1 ? String(parts[1]) : name
  }

  /// The default database of a project.
  init(ofProject project: String, _ options: ServeOptions) throws {
    try self.init("projects/\(project)/databases/(default)", options)
  }

  /// Imports documents into a new store, which gets its place when it is complete.
  func importDocuments(
    of source: any DocumentSource, at path: String, until isOver: @escaping () -> Bool
  ) throws -> ImportJob.Outcome {
    try checkEmpty()
    let part = "\(directory)/.import"
    try FileManager.default.createDirectory(
      atPath: (store as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    if StoreAccess.hasWriter(part) {
      throw CommandFailure(
        code: .unavailable, message: "another process imports into \(directory). Wait until it has ended.")
    }
    // An import that was killed has left it.
    try? FileManager.default.removeItem(atPath: part)
    defer { try? FileManager.default.removeItem(atPath: part) }
    let outcome = try CreationNotice.$isSilenced.withValue(true) {
      try ProgressLine.during { line in
        try StoreAccess.withStore(part, creates: true) { store throws(DocumentStoreError) in
          var job = ImportJob(store, source, at: path, line: line, fromStart: true)
          job.isWholeOrNothing = true
          return Result { try job.run(until: isOver) }
        }.get()
      }
    }
    guard !outcome.isInterrupted, !isOver() else {
      throw CommandFailure(
        code: .checkFailed, message: "the import was ended by a signal. Nothing was imported.")
    }
    if StoreFinder.isStore(store) { try FileManager.default.removeItem(atPath: store) }
    guard rename(part, store) == 0 else { throw ExportFile.failure(store) }
    try ExportFolder.sync((store as NSString).deletingLastPathComponent)
    return outcome
  }

  /// Refuses a database with documents, which an import would replace or mix with its own.
  private func checkEmpty() throws {
    guard StoreFinder.isStore(store) else { return }
    let count = try StoreAccess.withStore(store) { store throws(DocumentStoreError) in
      try store.documentCount()
    }
    guard count > 0 else { return }
    throw CommandFailure(
      code: .checkFailed,
      message: "\(name) has \(Wording.count(count, "document")) already, and nothing was imported. Leave out "
        + "--import to go on with \(count == 1 ? "it" : "them"), or name a new directory.")
  }

  /// Exports all documents to a folder of Firebase's emulators.
  func export(to folder: String) throws -> DocumentExport.Outcome {
    let export = try EmulatorExport(folder)
    return try StoreAccess.withStore(store, readOnly: true) { store throws(DocumentStoreError) in
      Result { try export.replace(by: store, project: project) }
    }.get()
  }
}
