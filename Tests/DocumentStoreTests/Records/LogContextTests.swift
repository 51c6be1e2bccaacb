// Log files that can be read without earlier log files, because they repeat the shapes defined earlier.

import ByteStore
import Foundation
import Harness
import StoreTools
import Testing

@testable import DocumentStore

@Suite struct LogContextTests {
  private static let shapes = 40

  private static func path(_ number: Int) -> DocumentPath {
    DocumentPath(unchecked: ["things", "\(number)"])
  }

  /// Documents whose numbers have the same remainder modulo `shapes` have the same shapes.
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

  /// Each time the store is opened, it starts a log file, which then receives four commits. Only the commits
  /// in the first log file define the shapes.
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

  /// Guards against the loss of later documents when a log file is lost that alone defined their shapes. The
  /// salvaged store must be able to read all documents of the remaining log files.
  @Test(arguments: 0..<4, [true, false])
  func salvageAfterALostLogKeepsTheDocumentsOfAllOtherLogs(lost: Int, closes: Bool) throws {
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

  /// The shapes for a round of concurrent commits. A shape is noticed at its first use and then defined by
  /// three commits. By the end of a round, each new shape was used one to four times. The next round uses all
  /// of these shapes again.
  private static func shapeNames(ofRound round: Int) -> [String] {
    let new = (1...4).flatMap { uses in [String](repeating: "new\(round)x\(uses)", count: uses) }
    guard round > 0 else { return new }
    return new + (1...4).flatMap { uses in [String](repeating: "new\(round - 1)x\(uses)", count: 4) }
  }

  private static func fields(_ number: Int, shape: String) -> StoredMap {
    // Large documents fill log files quickly.
    let filler = [UInt8](repeating: UInt8(number & 255), count: 3000)
    return StoredMap([
      (shape, .integer(Int64(number))), ("mark", .string("mark of \(number).")), ("filler", .bytes(filler)),
    ])
  }

  /// Commits are in progress while a log file fills up. Therefore, some definitions of a shape are in the old
  /// log file and others are in the new one.
  @Test func logFileStartedAmongPendingCommitsContainsTheirShapes() throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    var written: [StoredMap] = []
    var round = 0
    while try logs(directory).count < 3 {
      let inProgress = try Self.shapeNames(ofRound: round).map { shape in
        let fields = Self.fields(written.count, shape: shape)
        written.append(fields)
        return try store.begin([.set(Self.path(written.count - 1), fields)])
      }
      for commit in inProgress.reversed() { try store.finish(commit) }
      round += 1
    }
    try store.close()
    let names = try logs(directory)
    let bytes = try names.map { Data(try directory.read($0)) }
    let homes = written.indices.map { number in
      names.indices.filter { bytes[$0].range(of: Data("mark of \(number).".utf8)) != nil }
    }
    #expect(homes.allSatisfy { $0.count == 1 })
    #expect(names.count >= 3)
    var problems: [String] = []
    for (place, lost) in names.enumerated() {
      let copy = try TemporaryDirectory.copy(of: directory)
      try FileManager.default.removeItem(atPath: "\(copy.path)/\(lost)")
      let salvage = try DocumentStore.salvage(copy.path)
      if !salvage.bytes.undecodable.isEmpty {
        problems.append("\(lost): undecodable are \(salvage.bytes.undecodable.names.prefix(10))")
      }
      if try !DocumentStore.check(copy.path).isSound { problems.append("\(lost): the store is damaged") }
      store = try open(copy)
      let wrong = written.indices.filter { number in
        let expected = homes[number] == [place] ? nil : written[number]
        return (try? store.document(at: Self.path(number)))?.fields != expected
      }
      if wrong != [] { problems.append("\(lost): the documents \(wrong) are wrong") }
      if !homes.contains([place]) { problems.append("nothing was lost with \(lost)") }
      try store.close()
    }
    #expect(problems == [])
  }

  @Test func openDoesNotCountTheContextAsACommit() throws {
    let directory = TemporaryDirectory()
    try fill(directory, logs: 2, closes: false)
    let store = try open(directory)
    // The context does not count as a commit.
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
    let names = try logs(directory)
    #expect(!names.isEmpty)
    // The page after the first frame is empty.
    let wrong = try names.filter { name in
      let bytes = try directory.read(name)
      return bytes[4096 + 32..<8192].firstRange(of: Array("DGF".utf8)) != nil
    }
    #expect(wrong == [])
  }
}

extension TemporaryDirectory {
  static func copy(of other: TemporaryDirectory) throws -> TemporaryDirectory {
    let copy = TemporaryDirectory()
    try FileManager.default.copyItem(atPath: other.path, toPath: copy.path)
    return copy
  }
}
