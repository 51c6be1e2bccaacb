// A log that can be read without any other: it repeats the shapes that the logs before it have defined.

import ByteStore
import Foundation
import Harness
import Testing

@testable import DocumentStore

@Suite struct LogContextTests {
  private static let shapes = 40

  private static func path(_ number: Int) -> DocumentPath {
    DocumentPath(unchecked: ["things", "\(number)"])
  }

  /// Documents with equal remainders have one shape.
  private static func fields(_ number: Int) -> StoredMap {
    let name = "field\(number % shapes)"
    return StoredMap([
      (name, .integer(Int64(number))), ("of", .map(StoredMap([("\(name)x", .string("value \(number)"))]))),
    ])
  }

  private func open(_ directory: TemporaryDirectory) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    return try DocumentStore.open(directory.path, options: options, platform: .real)
  }

  private func logs(_ directory: TemporaryDirectory) throws -> [String] {
    try directory.names.filter { $0.hasPrefix("log-") }
  }

  private static let perLog = 4 * shapes

  /// Each opening begins a log, with four commits. Those of the first define the shapes, and no others do.
  private func fill(_ directory: TemporaryDirectory, logs: Int, closes: Bool) throws {
    for log in 0..<logs {
      let store = try open(directory)
      for commit in 0..<4 {
        let first = log * Self.perLog + commit * Self.shapes
        try store.commit((first..<first + Self.shapes).map { .set(Self.path($0), Self.fields($0)) })
      }
      if closes { try store.close() } else { store.bytes.abandon() }
    }
  }

  /// The story: the first of four logs was lost. The documents of the others needed shapes that it alone defined: no
  /// query of the salvaged store had an answer, and a second salvage called it sound.
  @Test(arguments: 0..<4, [true, false])
  func afterTheLossOfALogTheDocumentsOfAllOthersAreThere(lost: Int, closes: Bool) throws {
    let directory = TemporaryDirectory()
    try fill(directory, logs: 4, closes: closes)
    let names = try logs(directory)
    #expect(names.count == 4)
    try FileManager.default.removeItem(atPath: "\(directory.path)/\(names[lost])")
    _ = try DocumentStore.salvage(directory.path)
    #expect(try DocumentStore.check(directory.path).isSound)
    let store = try open(directory)
    let wrong = (0..<4 * Self.perLog).filter { number in
      let expected = number / Self.perLog == lost ? nil : Self.fields(number)
      return (try? store.document(at: Self.path(number)))?.fields != expected
    }
    #expect(wrong == [])
    #expect(store.count == 3 * Self.perLog)
    #expect(try store.invariantBroken() == nil)
    try store.close()
  }

  /// Commits that are under way while the log is full: some go to the old one and some to the new.
  @Test func aLogThatBeginsBetweenCommitsUnderWayHasTheirShapes() throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    var number = 0
    while try logs(directory).count < 3 {
      let underWay = try (0..<8).map { _ in
        number += 1
        // The first log defines all five shapes.
        var fields = Self.fields(number % 5)
        // Large, so that logs are soon full.
        fields.set(.bytes([UInt8](repeating: UInt8(number & 255), count: 9000)), at: field("filler"))
        return try store.begin([.set(Self.path(number), fields)])
      }
      for commit in underWay.reversed() { try store.finish(commit) }
    }
    try store.close()
    let names = try logs(directory)
    for lost in names {
      let copy = try TemporaryDirectory.copy(of: directory)
      try FileManager.default.removeItem(atPath: "\(copy.path)/\(lost)")
      _ = try DocumentStore.salvage(copy.path)
      #expect(try DocumentStore.check(copy.path).isSound)
      store = try open(copy)
      #expect(try store.documents(StructuredQuery(.collection(Self.path(0).parent))).count == store.count)
      #expect(store.count > 0)
      try store.close()
    }
  }

  @Test func anOpenPassesOverTheContext() throws {
    let directory = TemporaryDirectory()
    try fill(directory, logs: 2, closes: false)
    let store = try open(directory)
    // No commit for the context.
    #expect(store.recoveryReport.commitsReplayed == 8)
    #expect(store.bytes.lastCommit.value == 8)
    #expect(store.count == 2 * Self.perLog)
    #expect(try store.invariantBroken() == nil)
    try store.close()
    #expect(try DocumentStore.check(directory.path).isSound)
  }

  @Test func aStoreWithoutShapesWritesNoContext() throws {
    let directory = TemporaryDirectory()
    for _ in 0..<2 {
      let store = try open(directory)
      try store.commit([.set(Self.path(1), StoredMap([("one", .integer(1))]))])
      try store.close()
      let store2 = try open(directory)
      try store2.commit([.delete(Self.path(1))])
      try store2.close()
    }
    for name in try logs(directory) {
      let bytes = try directory.read(name)
      // The frame behind the first: nothing, up to the next page.
      #expect(bytes[4096 + 32..<8192].firstRange(of: Array("DGF".utf8)) == nil)
    }
  }
}

extension TemporaryDirectory {
  static func copy(of other: TemporaryDirectory) throws -> TemporaryDirectory {
    let copy = TemporaryDirectory()
    try FileManager.default.copyItem(atPath: other.path, toPath: copy.path)
    return copy
  }
}
