// The examples in docs/format.md match the bytes on disk.
//
// A small store with fixed ids and a fixed clock must have exactly the documented bytes, and a store built
// from the documented bytes must open. Both are tested before and after a flush.

import ByteStore
import Foundation
import Testing

@testable import DocumentStore

@Suite struct FormatExampleTests {
  @Test(arguments: Example.blocks)
  func documentedBytesEqualTheBytesOnDisk(block: Example.Block) throws {
    let shown = try ExamplePage.read().block(block.name)
    let found = try Example.bytes(of: block)
    // Compare first: the output of a failed array comparison would hide the useful rows.
    let agrees = shown.bytes == found
    let rows = shown.rewritten(with: found)
    #expect(agrees, "docs/format.md shows other bytes for \"\(block.name)\". They are now:\n\n\(rows)")
  }

  /// The document follows another document with equal field names, so its record refers to a shape.
  @Test func shapeAndRecordAreWrittenAsDocumented() throws {
    let page = try ExamplePage.read()
    let time = try #require(StoredTimestamp(microseconds: Example.time))
    let document = StoredDocument(
      path: Example.path, createTime: time, updateTime: time, fields: Example.fields)
    let shapes = ShapeDictionary()
    shapes.begin(from: 0)
    _ = shapes.id(of: Example.fields)
    var encoder = RecordEncoder(shapes: shapes)
    let record = encoder.encode(document)
    let definition = try #require(shapes.table.shapes.first??.definition)
    var wrong: [String] = []
    for (name, found) in [("shape", Shape.key(0) + definition), ("record with a shape", record)] {
      let shown = try page.block(name)
      if shown.bytes != found { wrong.append("\"\(name)\":\n\n\(shown.rewritten(with: found))") }
    }
    #expect(
      wrong.isEmpty, "docs/format.md shows other bytes. They are now:\n\n\(wrong.joined(separator: "\n\n"))")
  }

  /// The store is closed after the shape is defined, so the next commit starts a log file.
  @Test func theNextLogFileHasTheDocumentedContext() throws {
    let shown = try ExamplePage.read().block("context")
    let found = try Example.context()
    let agrees = shown.bytes == found
    let rows = shown.rewritten(with: found)
    #expect(agrees, "docs/format.md shows other bytes for \"context\". They are now:\n\n\(rows)")
  }

  @Test(arguments: Example.State.allCases)
  func storeBuiltFromTheDocumentedBytesHoldsTheDocument(state: Example.State) throws {
    let page = try ExamplePage.read()
    try Example.withFolder { folder in
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      for (name, bytes) in state.files {
        var file = Data(count: bytes)
        for block in Example.blocks where block.state == state && block.file == name {
          let shown = try page.block(block.name).bytes
          let start = block.range?.lowerBound ?? 0
          if block.range == nil { file = Data(count: shown.count) }
          file.replaceSubrange(start..<start + shown.count, with: shown)
        }
        try file.write(to: folder.appendingPathComponent(name))
      }

      let store = try DocumentStore.open(folder.path)
      let document = try store.document(at: Example.path)
      #expect(document?.fields == Example.fields)
      #expect(document?.createTime.microseconds == Example.time)
      #expect(document?.updateTime.microseconds == Example.time)
      #expect(store.count == 1)
      #expect(store.recoveryReport.losses == [])
      #expect(store.recoveryReport.commitsReplayed == (state == .committed ? 1 : 0))
      #expect(!store.recoveryReport.wasClosedCleanly)
      try store.close()
    }
  }
}

/// The documented store, in two states: after its first commit but before it is closed, and after a flush.
enum Example {
  /// 2026-01-01T00:00:00Z
  static let time: Int64 = 1_767_225_600_000_000
  static let path = DocumentPath(unchecked: ["users", "ada"])
  static let fields = StoredMap([("name", .string("Ada")), ("age", .integer(36))])

  enum State: Sendable, CaseIterable {
    case committed
    case flushed

    /// The files and their sizes. Bytes that the page does not show are zero.
    var files: [(name: String, bytes: Int)] {
      switch self {
      case .committed: [("MANIFEST", 0), ("log-0000000001", 64 << 10)]
      case .flushed:
        [
          ("MANIFEST", 0), ("log-0000000002", 64 << 10), ("segment-0000000001", 3 * 8192),
          ("checkpoint-0000000002", 5 * 4096),
        ]
      }
    }
  }

  /// The documented part of a file. If `range` is nil, the whole file is documented.
  struct Block: Sendable, CustomTestStringConvertible {
    var name: String
    var state: State
    var file: String
    var range: Range<Int>?

    init(_ name: String, _ state: State, _ file: String, _ range: Range<Int>?) {
      self.name = name
      self.state = state
      self.file = file
      self.range = range
    }

    var testDescription: String { name }
  }

  static let blocks = [
    Block("manifest", .committed, "MANIFEST", nil),
    Block("log header", .committed, "log-0000000001", 0..<128),
    Block("frame", .committed, "log-0000000001", 4096..<4096 + 128),
    Block("manifest after a flush", .flushed, "MANIFEST", nil),
    Block("next log header", .flushed, "log-0000000002", 0..<128),
    Block("segment header", .flushed, "segment-0000000001", 0..<160),
    Block("dictionary", .flushed, "segment-0000000001", 8192..<8192 + 44),
    Block("segment page", .flushed, "segment-0000000001", 16384..<24576),
    Block("checkpoint header", .flushed, "checkpoint-0000000002", 0..<4096),
    Block("directory page", .flushed, "checkpoint-0000000002", 4096..<8192),
    Block("slots page", .flushed, "checkpoint-0000000002", 8192..<12288),
    Block("locations page", .flushed, "checkpoint-0000000002", 12288..<16384),
    Block("segments page", .flushed, "checkpoint-0000000002", 16384..<20480),
  ]

  static func bytes(of block: Block) throws -> [UInt8] {
    try withFolder { folder in
      let platform = Platform(fileSystem: PosixFileSystem(), clock: FixedClock(), random: CountedIDs())
      let close = try make(block.state, folder.path, platform)
      let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent(block.file)))
      try close()
      return block.range.map { Array(bytes[$0]) } ?? bytes
    }
  }

  /// The context frame of the second log file, for a store in which two documents share a shape.
  static func context() throws -> [UInt8] {
    try withFolder { folder in
      let platform = Platform(fileSystem: PosixFileSystem(), clock: FixedClock(), random: CountedIDs())
      var options = DocumentStore.Options()
      options.maintenance = .manual
      for name in ["ada", "bob"] {
        let store = try DocumentStore.open(folder.path, options: options, platform: platform)
        let other = DocumentPath(unchecked: ["users", "\(name)2"])
        try store.commit([
          .set(DocumentPath(unchecked: ["users", name]), fields), .set(other, fields),
        ])
        try store.close()
      }
      let log = [UInt8](try Data(contentsOf: folder.appendingPathComponent("log-0000000002")))
      let start = try #require(log.firstRange(of: Array("DGF\u{2}".utf8))).lowerBound
      return Array(log[start..<start + 64])
    }
  }

  /// Creates the store and returns a function that closes it.
  private static func make(
    _ state: State, _ folder: String, _ platform: Platform
  ) throws -> () throws -> Void {
    switch state {
    case .committed:
      let store = try DocumentStore.open(folder, options: .init(), platform: platform)
      try store.commit([.set(path, fields)])
      return { try store.close() }
    case .flushed:
      // The commit is created by a document store; the flush is done by the byte store below.
      var options = ByteStore.Options()
      options.maintenance = .manual
      let store = try ByteStore.open(folder, options: options, platform: platform)
      var batch = Batch(stamp: UInt64(time))
      let stamp = try #require(StoredTimestamp(microseconds: time))
      let document = StoredDocument(path: path, createTime: stamp, updateTime: stamp, fields: fields)
      try batch.put(document.record, for: DocumentKey.encode(path))
      try store.commit(batch)
      try store.flush()
      return { try store.close() }
    }
  }

  static func withFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("dugout-format-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(folder)
  }

  private struct FixedClock: StoreClock {
    func wallMicroseconds() -> Int64 { time }
    func monotonicNanoseconds() -> UInt64 { 0 }
  }

  /// A random source that returns 1111… for the store, 2222… for its hash key, 3333… for its first log file,
  /// and so on.
  private final class CountedIDs: RandomSource {
    private let given = Locked<UInt64>(0)

    func randomID() -> RandomID {
      let digit = given.withLock { given in
        given += 1
        return given
      }
      let word = digit &* 0x1111_1111_1111_1111
      return RandomID(high: word, low: word)
    }
  }
}

/// Parses the examples in docs/format.md. A block is the fence after `<!-- example: NAME -->`. Each line has
/// an offset, bytes and, after two spaces, the meaning of the bytes. `00 × 4064` stands for 4064 zeros.
private struct ExamplePage {
  struct Missing: Error, CustomStringConvertible {
    var description: String
  }

  struct Block {
    fileprivate var rows: [(bytes: [UInt8], meaning: Substring)] = []

    var bytes: [UInt8] { rows.flatMap(\.bytes) }

    private static let zerosElided = 32

    /// Returns the rows with `bytes` as their content. Bytes beyond the last row are added in rows of 16, or
    /// as runs of zeros.
    func rewritten(with bytes: [UInt8]) -> String {
      var rest = bytes[...]
      var lines: [String] = []
      func add(_ count: Int, _ text: String, _ meaning: Substring) {
        lines.append("\(Self.hexadecimal(bytes.count - rest.count, digits: 4)): \(text)\(meaning)")
        rest = rest.dropFirst(count)
      }
      func add(_ count: Int, _ meaning: Substring) {
        let text = rest.prefix(count).map { Self.hexadecimal(Int($0), digits: 2) }.joined(separator: " ")
        add(count, text, meaning)
      }
      for (shown, meaning) in rows where !rest.isEmpty {
        if shown.count < Self.zerosElided {
          add(shown.count, meaning)
        } else if rest.prefix(shown.count).allSatisfy({ $0 == 0 }) {
          add(shown.count, "00 × \(shown.count)", meaning)
        } else {
          break
        }
      }
      while !rest.isEmpty {
        let zeros = rest.prefix { $0 == 0 }.count
        if zeros >= Self.zerosElided { add(zeros, "00 × \(zeros)", "") } else { add(min(16, rest.count), "") }
      }
      return lines.joined(separator: "\n")
    }

    private static func hexadecimal(_ number: Int, digits: Int) -> String {
      let text = String(number, radix: 16)
      return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
  }

  private let lines: [Substring]

  static func read() throws -> ExamplePage {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("docs/format.md")
    let text = try String(contentsOf: page, encoding: .utf8)
    return ExamplePage(lines: text.split(separator: "\n", omittingEmptySubsequences: false))
  }

  func block(_ name: String) throws -> Block {
    guard let marker = lines.firstIndex(of: "<!-- example: \(name) -->"),
      lines.dropFirst(marker + 1).first?.hasPrefix("```") == true
    else { throw Missing(description: "docs/format.md has no block for the example \"\(name)\".") }
    var block = Block()
    for line in lines[(marker + 2)...].prefix(while: { !$0.hasPrefix("```") }) {
      let form = #/([0-9a-f]{4}): ([0-9a-f]{2}(?: [0-9a-f]{2})*)(?: × (\d+))?(  .*)?/#
      guard let row = line.wholeMatch(of: form),
        Int(row.1, radix: 16) == block.bytes.count
      else {
        throw Missing(description: "This row of docs/format.md is invalid, or at another offset: \(line)")
      }
      let bytes = row.2.split(separator: " ").compactMap { UInt8($0, radix: 16) }
      let times = row.3.flatMap { Int($0) } ?? 1
      block.rows.append((Array(repeatElement(bytes, count: times).joined()), row.4 ?? ""))
    }
    return block
  }
}
