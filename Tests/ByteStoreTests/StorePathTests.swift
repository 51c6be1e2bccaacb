// Invalid paths.

import Foundation
import Testing

@testable import ByteStore
@testable import StoreTools

@Suite struct StorePathTests {
  /// Regression: the system cuts a path at its first NUL, so another store was opened, or a store was created
  /// at an unwanted path.
  @Test func pathWithANulIsRefused() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
      .path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = try ByteStore.open("\(folder)/store")
    defer { store.abandon() }
    let before = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/store").sorted()
    var wrong: [String] = []
    for path in ["\(folder)/store\0", "\(folder)/new\0er", "\(folder)/\0", "\0"] {
      let uses: [() throws -> Void] = [
        { try ByteStore.open(path).abandon() }, { _ = try ByteStore.check(path) },
        { _ = try ByteStore.salvage(path) }, { _ = try store.backup(to: path) },
        {
          var options = ByteStore.Options()
          options.isReadOnly = true
          try ByteStore.open(path, options: options).abandon()
        },
      ]
      let escaped = path.replacing("\0", with: "\\0")
      for (number, use) in uses.enumerated() {
        do {
          try use()
          wrong.append("use \(number) of \(escaped)")
        } catch let error as ByteStoreError {
          let text = error.description
          if !text.contains(escaped) || !text.contains("NUL") { wrong.append("use \(number): \(text)") }
        }
      }
    }
    #expect(wrong == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["store"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder)/store").sorted() == before)
  }

  @Test func fileNameWithANulIsRefused() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("dugout-\(UUID().uuidString)")
      .path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let files = PosixFileSystem()
    try files.createDirectory(folder)
    let directory = try files.openDirectory(folder)
    try directory.createFile("a").close()
    let uses: [() throws -> Void] = [
      { try directory.createFile("b\0c").close() }, { try directory.openFile("a\0b", .read).close() },
      { try directory.rename("a\0b", to: "b") }, { try directory.rename("a", to: "b\0c") },
      { try directory.remove("a\0b") }, { try files.createDirectory("\(folder)/c\0d") },
      { _ = try files.openDirectory("\(folder)\0") }, { _ = try directory.lock("L\0K", .readAndWrite) },
    ]
    var wrong: [String] = []
    for (number, use) in uses.enumerated() {
      do {
        try use()
        wrong.append("use \(number)")
      } catch is SystemFailure {}
      let names = try directory.names()
      if names != ["a"] { wrong.append("after use \(number): \(names)") }
    }
    #expect(wrong == [])
  }
}
