// Imports before a server starts, and exports after it has ended.

import DocumentStore
import DugoutServer
import Foundation
import Testing

@testable import dugout

@Suite struct ClosedDatabaseTests {
  private static let export = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fixtures/FirestoreExport").path

  private static let name = "projects/my-shop/databases/(default)"

  private func database(_ folder: borrowing TemporaryFolder) throws -> ClosedDatabase {
    let options = try ServeOptions(Arguments([folder.path + "/data", "--emulator"], of: ServeCommand.self))
    return try ClosedDatabase(Self.name, options)
  }

  private func importExport(
    at path: String = export, into database: ClosedDatabase, isOver: Bool = false
  ) throws -> ImportJob.Outcome {
    try database.importDocuments(of: DocumentSources.open(path), at: path) { isOver }
  }

  private func documents(_ store: String) throws -> Int {
    try StoreAccess.withStore(store, readOnly: true) { store throws(DocumentStoreError) in
      try store.documentCount()
    }
  }

  // MARK: Imports

  @Test func anImportCreatesTheStoreAndLeavesNothingElse() throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    let outcome = try importExport(into: database)
    #expect(outcome.documents > 5)
    #expect(try documents(database.store) == outcome.documents)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/data") == ["my-shop"])
    let marks = try FileManager.default.contentsOfDirectory(atPath: Self.export)
    #expect(!marks.contains { $0.hasSuffix(".dugout-import") })
    #expect(!FileManager.default.fileExists(atPath: Self.export + ".dugout-import"))
  }

  @Test func aDatabaseWithDocumentsRefusesAnImportAndKeepsThem() throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    try TemporaryFolder.open(database.store) { store in
      try store.commit([.set(try DocumentPath(["users", "ada"]), StoredMap([]))])
    }
    let failure = thrown { _ = try importExport(into: database) } as? CommandFailure
    #expect(failure?.code == .checkFailed)
    #expect(failure?.message.hasPrefix("\(Self.name) has 1 document already") == true)
    #expect(try documents(database.store) == 1)
  }

  @Test func anEmptyStoreIsReplacedByAnImport() throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    try TemporaryFolder.open(database.store) { _ in }
    let outcome = try importExport(into: database)
    #expect(try documents(database.store) == outcome.documents)
  }

  @Test func anImportThatASignalEndsLeavesNoStore() throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    let failure = thrown { _ = try importExport(into: database, isOver: true) } as? CommandFailure
    #expect(failure?.code == .checkFailed && failure?.message.contains("Nothing was imported") == true)
    #expect(!FileManager.default.fileExists(atPath: database.store))
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/data/.import"))
  }

  @Test func aBadDocumentLeavesNoStoreAndNoProgress() throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    let file = folder.path + "/documents.jsonl"
    let good = (0..<600).map { "{\"path\": \"users/\($0)\", \"fields\": {}}\n" }.joined()
    try Data((good + "no document\n").utf8).write(to: URL(fileURLWithPath: file))
    let failure = thrown { _ = try importExport(at: file, into: database) } as? CommandFailure
    #expect(failure?.code == .badData && failure?.message.contains("line 601") == true)
    #expect(failure?.message.contains("Nothing was imported.") == true, "\(failure?.message ?? "")")
    #expect(!FileManager.default.fileExists(atPath: database.store))
    #expect(!FileManager.default.fileExists(atPath: file + ".dugout-import"))
  }

  /// A killed import leaves a store under another name.
  @Test func theNextImportRemovesTheRemainsOfAKilledOne() throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    try TemporaryFolder.open(folder.path + "/data/.import") { store in
      try store.commit([.set(try DocumentPath(["users", "old"]), StoredMap([]))])
    }
    let outcome = try importExport(into: database)
    #expect(try documents(database.store) == outcome.documents)
  }

  @Test func anExportNamesItsProject() throws {
    #expect(try FirestoreExport(Self.export).project() == "kept")
  }

  // MARK: Exports

  @Test func anExportCanBeImportedAgainAndIsReplacedInOneStep() throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    let count = try importExport(into: database).documents
    let exported = folder.path + "/exported"
    #expect(try database.export(to: exported).documents == count)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: exported).sorted()
        == ["firebase-export-metadata.json", "firestore_export"])
    #expect(try FirestoreExport(exported).project() == "my-shop")
    try TemporaryFolder.open(database.store) { store in
      try store.commit([.set(try DocumentPath(["users", "new"]), StoredMap([]))])
    }
    #expect(try database.export(to: exported + "/").documents == count + 1)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: exported).sorted()
        == ["firebase-export-metadata.json", "firestore_export_2"])
    let again = folder.path + "/again"
    let imported = try Program("dugout").run("import", again, exported)
    #expect(imported.status == 0 && imported.output.contains("\(count + 1) documents"), "\(imported)")
    #expect(try database.export(to: exported).documents == count + 1)
    #expect(FileManager.default.fileExists(atPath: exported + "/firestore_export/all_namespaces"))
  }

  @Test func exportsOfOtherEmulatorsStay() throws {
    let folder = try TemporaryFolder()
    let database = try database(folder)
    _ = try importExport(into: database)
    let exported = folder.path + "/exported"
    try FileManager.default.createDirectory(
      atPath: exported + "/auth_export", withIntermediateDirectories: true)
    let metadata = exported + "/firebase-export-metadata.json"
    try Data("{\"version\": \"13.0.2\", \"auth\": {\"path\": \"auth_export\"}}".utf8)
      .write(to: URL(fileURLWithPath: metadata))
    _ = try database.export(to: exported)
    let object = try JSONReader.read(Data(contentsOf: URL(fileURLWithPath: metadata)))
    #expect(object["version"]?.text == "13.0.2" && object["auth"]?["path"]?.text == "auth_export")
    #expect(object["firestore"]?["path"]?.text == "firestore_export")
    #expect(
      object["firestore"]?["metadata_file"]?.text
        == "firestore_export/firestore_export.overall_export_metadata")
    #expect(FileManager.default.fileExists(atPath: exported + "/auth_export"))
  }

  @Test func foldersWithOtherFilesAreNotExportedTo() throws {
    let folder = try TemporaryFolder()
    let other = folder.path + "/other"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    _ = try EmulatorExport(other)
    _ = try EmulatorExport(folder.path + "/none")
    try Data().write(to: URL(fileURLWithPath: other + "/photo.jpg"))
    let failure = thrown { _ = try EmulatorExport(other) } as? CommandFailure
    #expect(failure?.code == .usage && failure?.message.contains("Name a new folder") == true)
    try Data("[]".utf8).write(to: URL(fileURLWithPath: other + "/firebase-export-metadata.json"))
    #expect((thrown { _ = try EmulatorExport(other) } as? CommandFailure)?.code == .badData)
  }

  /// Regression: nothing outside the folder is read or removed, whatever its metadata says.
  @Test func pathsThatLeadOutOfTheFolderAreIgnored() throws {
    let folder = try TemporaryFolder()
    let metadata = URL(fileURLWithPath: folder.path + "/firebase-export-metadata.json")
    for path in ["/etc", "../other", "a/../../other"] {
      try Data("{\"firestore\": {\"path\": \"\(path)\"}}".utf8).write(to: metadata)
      #expect(EmulatorExport.firestoreFolder(in: folder.path) == nil)
    }
    try Data("{\"firestore\": {\"path\": \"firestore_export\"}}".utf8).write(to: metadata)
    #expect(EmulatorExport.firestoreFolder(in: folder.path) == folder.path + "/firestore_export")
  }

  // MARK: Errors

  @Test func errorsOfTheServerHaveTheirExitCodes() {
    let codes: [(ServerError, ExitCode)] = [
      (.missingAdminSecret, .usage), (.unencryptedAddress("0.0.0.0"), .usage), (.invalidPort(-1), .usage),
      (.missingTrait("TLS"), .usage), (.invalidDatabase("a", reason: "b"), .usage),
      (.cannotListen(reason: "the port is in use"), .unavailable),
      (.lockedDatabase("a", reason: "b"), .unavailable), (.unusableCertificate(reason: "b"), .inputOutput),
      (.alreadyRun, .checkFailed),
    ]
    #expect(codes.filter { ServeRun.failure($0.0).code != $0.1 }.map { "\($0.0)" } == [])
  }
}
