// The worked example of docs/format.md: a small store is made anew, with fixed ids and a fixed clock, and
// must consist of the bytes that the page shows; and a store made of the page's bytes opens.

import ByteStore
import DocumentStore
import Foundation
import Testing

@Suite struct FormatExampleTests {
  @Test(arguments: Example.blocks)
  func theBytesOfThePageAreTheBytesOnDisk(block: Example.Block) throws {
    let shown = try ExamplePage.read().block(block.name)
    let found = try Example.bytes(of: block)
    // Compared first: the words of a failed comparison of arrays would bury the rows that help.
    let agrees = shown.bytes == found
    let rows = shown.rewritten(with: found)
    #expect(agrees, "docs/format.md shows other bytes for \"\(block.name)\". They are now:\n\n\(rows)")
  }

  @Test func aStoreMadeOfTheBytesOfThePageHoldsTheDocument() throws {
    let page = try ExamplePage.read()
    let log = try page.block("log header").bytes
    let frame = try page.block("frame").bytes
    try Example.withFolder { folder in
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
      try Data(try page.block("manifest").bytes).write(to: folder.appendingPathComponent("MANIFEST"))
      var file = Data(count: Example.logBytes)
      file.replaceSubrange(0..<log.count, with: log)
      file.replaceSubrange(Example.pageBytes..<Example.pageBytes + frame.count, with: frame)
      try file.write(to: folder.appendingPathComponent("log-0000000001"))

      let store = try DocumentStore.open(folder.path)
      let document = try store.document(at: Example.path)
      #expect(document?.fields == Example.fields)
      #expect(document?.createTime.microseconds == Example.time)
      #expect(document?.updateTime.microseconds == Example.time)
      #expect(store.count == 1)
      #expect(store.recoveryReport.losses == [])
      #expect(!store.recoveryReport.wasClosedCleanly)
      try store.close()
    }
  }
}

/// The store that the page describes, as it lies on disk after its first commit, not yet closed.
enum Example {
  static let pageBytes = 4096
  static let logBytes = 64 << 10
  /// 2026-01-01T00:00:00Z
  static let time: Int64 = 1_767_225_600_000_000
  static let path = DocumentPath(unchecked: ["users", "ada"])
  static let fields = StoredMap([("name", .string("Ada")), ("age", .integer(36))])

  /// A part of a file that the page shows.
  struct Block: Sendable, CustomTestStringConvertible {
    var name: String
    var file: String
    var range: Range<Int>?

    var testDescription: String { name }
  }

  static let blocks = [
    Block(name: "manifest", file: "MANIFEST", range: nil),
    Block(name: "log header", file: "log-0000000001", range: 0..<128),
    Block(name: "frame", file: "log-0000000001", range: 4096..<4096 + 192),
  ]

  static func bytes(of block: Block) throws -> [UInt8] {
    try withFolder { folder in
      let platform = Platform(fileSystem: PosixFileSystem(), clock: FixedClock(), random: CountedIDs())
      let store = try DocumentStore.open(folder.path, options: .init(), platform: platform)
      try store.commit([.set(path, fields)])
      let bytes = [UInt8](try Data(contentsOf: folder.appendingPathComponent(block.file)))
      try store.close()
      return block.range.map { Array(bytes[$0]) } ?? bytes
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

  /// 1111…, then 2222…: the store's id, then that of its first log.
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

/// docs/format.md, as far as its example goes. A block is the fence after `<!-- example: NAME -->`; each of
/// its lines holds an offset, bytes, and after two spaces what they mean.
private struct ExamplePage {
  struct Missing: Error, CustomStringConvertible {
    var description: String
  }

  struct Block {
    fileprivate var rows: [(bytes: [UInt8], meaning: Substring)] = []

    var bytes: [UInt8] { rows.flatMap(\.bytes) }

    /// The same rows with other bytes, and rows of 16 for what they do not cover.
    func rewritten(with bytes: [UInt8]) -> String {
      var rest = bytes[...]
      var lines: [String] = []
      func add(_ count: Int, _ meaning: Substring) {
        let row = rest.prefix(count).map { Self.hexadecimal(Int($0), digits: 2) }.joined(separator: " ")
        lines.append("\(Self.hexadecimal(bytes.count - rest.count, digits: 4)): \(row)\(meaning)")
        rest = rest.dropFirst(count)
      }
      for (bytes, meaning) in rows where !rest.isEmpty { add(bytes.count, meaning) }
      while !rest.isEmpty { add(16, "") }
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
      guard let row = line.wholeMatch(of: #/([0-9a-f]{4}): ([0-9a-f]{2}(?: [0-9a-f]{2})*)(  .*)?/#),
        Int(row.1, radix: 16) == block.bytes.count
      else { throw Missing(description: "This row of docs/format.md is none, or stands elsewhere: \(line)") }
      block.rows.append((row.2.split(separator: " ").compactMap { UInt8($0, radix: 16) }, row.3 ?? ""))
    }
    return block
  }
}
