// Readers whose store is moved, or replaced by another directory, on real files.

import Foundation
import Harness
import Testing

@testable import ByteStore

@Suite struct ReaderPlaceTests {
  private let folder = TemporaryDirectory()
  private let away = TemporaryDirectory()

  private func makeStore(_ path: String, _ value: UInt8) throws {
    let store = try ByteStore.open(path, options: writerOptions())
    try store.put([value], for: "a")
    try store.close()
  }

  private func errorOfRefresh(_ reader: ByteStore) throws -> ByteStoreError {
    try storeError { () throws(ByteStoreError) in try refresh(reader) }
  }

  /// Regression: a reader keeps the directory open, and went on to read the store that was moved away.
  @Test func aStoreThatIsMovedAwayIsNoticed() throws {
    let files = FileManager.default
    try makeStore(folder.path, 1)
    let reader = try openReader(folder.path, .real)
    try files.moveItem(atPath: folder.path, toPath: away.path)
    #expect(try errorOfRefresh(reader) == .noStore(directory: folder.path), "nothing is there")
    try folder.create()
    #expect(try errorOfRefresh(reader) == .noStore(directory: folder.path), "a directory without a store")
    try makeStore(folder.path, 2)
    #expect(try errorOfRefresh(reader) == .replaced(directory: folder.path))
    #expect(try reader.value(for: "a") == [1], "the state that was shown stays visible")
    try files.removeItem(atPath: folder.path)
    try files.moveItem(atPath: away.path, toPath: folder.path)
    try refresh(reader)
    try makeStore(folder.path, 3)
    try refresh(reader)
    #expect(try reader.value(for: "a") == [3], "the store is back")
    try reader.close()
  }

  @Test func aLinkThatLeadsToAnotherStoreIsNoticed() throws {
    let files = FileManager.default
    try folder.create()
    let link = "\(folder.path)/current"
    for (number, name) in ["first", "second"].enumerated() {
      try makeStore("\(folder.path)/\(name)", UInt8(number))
    }
    try files.createSymbolicLink(atPath: link, withDestinationPath: "\(folder.path)/first")
    let reader = try openReader(link, .real)
    try refresh(reader)
    try files.removeItem(atPath: link)
    try files.createSymbolicLink(atPath: link, withDestinationPath: "\(folder.path)/second")
    #expect(try errorOfRefresh(reader) == .replaced(directory: link))
    try reader.close()
  }
}
