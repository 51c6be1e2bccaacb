// The databases of a directory: found, created, bounded and closed.

import ByteStore
import DocumentStore
import FirestoreWire
import Harness
import OfflineSync
import Testing

@testable import FirestoreServer

@Suite struct DatabaseFolderTests {
  private let directory = TemporaryDirectory()
  private let failures = LogLines()

  private func folder(isEmulator: Bool, max: Int = 3) throws -> DatabaseFolder {
    let log = failures.log(.text)
    return try DatabaseFolder(directory.path, isEmulator: isEmulator, databasesMax: max) {
      error in
      log.write(error.description)
    }
  }

  private func name(_ project: String, _ database: String = "(default)") -> DatabaseName {
    DatabaseName(projectID: project, databaseID: database)
  }

  private func error(_ folder: DatabaseFolder, _ name: DatabaseName) -> RemoteError? {
    do throws(RemoteError) {
      _ = try folder.authority(of: name)
      return nil
    } catch {
      return error
    }
  }

  @Test func anEmulatorCreatesDatabasesThatClientsName() throws {
    let folder = try folder(isEmulator: true)
    #expect(folder.openDatabases.isEmpty)
    let authority = try folder.authority(of: name("demo-shop"))
    #expect(try folder.authority(of: name("demo-shop")) === authority)
    #expect(try folder.authority(of: name("demo-shop", "orders")) !== authority)
    #expect(folder.openDatabases.map(\.name.databaseID) == ["(default)", "orders"])
    folder.close()
  }

  @Test func otherServersDoNot() throws {
    let folder = try folder(isEmulator: false)
    #expect(error(folder, name("my-project"))?.code == .notFound)
    #expect(folder.isEmpty)
    #expect(try PosixFileSystem().openDirectory(directory.path).names().isEmpty)
    #expect(try folder.create(name("my-project")))
    #expect(error(folder, name("my-project")) == nil)
    #expect(try !folder.create(name("my-project")))
    #expect(error(folder, name("my-project", "orders"))?.code == .notFound)
    folder.close()
  }

  @Test func databasesOutliveTheServer() throws {
    let first = try folder(isEmulator: false)
    #expect(try first.create(name("my-project", "orders")))
    first.close()
    let second = try folder(isEmulator: false)
    #expect(!second.isEmpty)
    #expect(try !second.create(name("my-project", "orders")))
    #expect(error(second, name("my-project", "orders")) == nil)
    second.close()
  }

  @Test func theNumberOfDatabasesIsBounded() throws {
    let folder = try folder(isEmulator: true, max: 2)
    #expect(error(folder, name("a")) == nil)
    #expect(error(folder, name("b")) == nil)
    #expect(error(folder, name("c"))?.code == .resourceExhausted)
    #expect(error(folder, name("a", "other"))?.code == .resourceExhausted)
    // Those that exist are still served, also by the next server.
    #expect(error(folder, name("b")) == nil)
    folder.close()
    let next = try self.folder(isEmulator: true, max: 2)
    #expect(error(next, name("c"))?.code == .resourceExhausted)
    #expect(error(next, name("a")) == nil)
    next.close()
    #expect(try PosixFileSystem().openDirectory(directory.path).names().sorted() == ["a", "b"])
  }

  @Test func invalidNamesTouchNothing() throws {
    let folder = try folder(isEmulator: true)
    for id in DatabaseGrammarTests.dangerous {
      #expect(error(folder, name(id))?.code == .invalidArgument, "\(id)")
      #expect(error(folder, name("demo-shop", id))?.code == .invalidArgument, "\(id)")
      #expect(throws: ServerError.self) { try folder.create(name(id)) }
    }
    #expect(try PosixFileSystem().openDirectory(directory.path).names().isEmpty)
  }

  @Test func aDatabaseOfAnotherProcessIsUnavailable() throws {
    let first = try folder(isEmulator: true)
    #expect(error(first, name("demo-shop")) == nil)
    let second = try folder(isEmulator: true)
    let refused = error(second, name("demo-shop"))
    #expect(refused?.code == .unavailable)
    #expect(refused?.message.contains("another process") == true)
    // The path is for the log, not for clients.
    #expect(refused?.message.contains(directory.path) == false)
    #expect(failures.all.contains { $0.contains(directory.path) })
    first.close()
    #expect(error(second, name("demo-shop")) == nil)
    second.close()
  }

  @Test func aClosedFolderOpensNothing() throws {
    let folder = try folder(isEmulator: true)
    folder.close()
    #expect(error(folder, name("demo-shop"))?.code == .unavailable)
    #expect(try PosixFileSystem().openDirectory(directory.path).names().isEmpty)
  }

  @Test func aStoreIsNoDirectoryOfDatabases() throws {
    try DocumentStore.open(directory.path).close()
    do {
      _ = try folder(isEmulator: true)
      Issue.record("accepted a store")
    } catch let error as ServerError {
      #expect(error.description.contains("is a database itself"))
    }
  }
}
