// Records of CSV, in whole texts and in pieces.

import Foundation
import Testing

@testable import dugout

@Suite struct CSVScannerTests {
  /// Returns the cells of all records, or the problem.
  private func read(_ text: String, separator: Character = ",") throws -> [[String]] {
    let bytes = Array(text.utf8)
    let scanner = CSVScanner(separator: try #require(separator.asciiValue))
    var rows: [[String]] = []
    var record = CSVRecord()
    var start = 0
    while start < bytes.count {
      try #require(try scanner.scan(bytes, from: start, isAtEnd: true, into: &record))
      rows.append(try record.cells.map { try #require(CSVScanner.text(of: $0, in: bytes)) })
      start = record.end
    }
    return rows
  }

  @Test func cellsAreSplitAndUnquoted() throws {
    #expect(try read("a,b\n1,2\n") == [["a", "b"], ["1", "2"]])
    #expect(try read("a,b\r\n1,2") == [["a", "b"], ["1", "2"]])
    #expect(try read("a,b\r1,2\r") == [["a", "b"], ["1", "2"]])
    #expect(try read("\"a,b\",\"c\"\"d\",\"e\r\nf\"\n") == [["a,b", "c\"d", "e\r\nf"]])
    #expect(try read(",\n,,\n") == [["", ""], ["", "", ""]])
    #expect(try read("5\" pipe,a\"b\n") == [["5\" pipe", "a\"b"]])
    #expect(try read("\"a\" ,b\n") == [["a", "b"]])
    #expect(try read("a;b,c\td\n", separator: ";") == [["a", "b,c\td"]])
    #expect(try read("\"a\"\tb\n", separator: "\t") == [["a", "b"]])
    #expect(try read("\"\"\"\",\"\"") == [["\"", ""]])
  }

  @Test func unfinishedAndMisplacedQuotesAreProblems() throws {
    #expect { try read("a,\"b\nc\n") } throws: { "\($0)" == "quoteWithoutEnd(2)" }
    #expect { try read("\"a\"b,c\n") } throws: { "\($0)" == "textAfterQuote(3)" }
  }

  /// A record is complete only when its last byte cannot belong to something longer.
  @Test func aRecordInPiecesIsNeverReadTooEarly() throws {
    let text = "\"a\"\"b\",c\r\n\"d\",\"e\nf\"\r\ng,h\n"
    let bytes = Array(text.utf8)
    let scanner = CSVScanner(separator: UInt8(ascii: ","))
    var whole = CSVRecord()
    var wrong: [String] = []
    var start = 0
    while start < bytes.count {
      _ = try scanner.scan(bytes, from: start, isAtEnd: true, into: &whole)
      for end in start..<bytes.count {
        var part = CSVRecord()
        guard try scanner.scan(Array(bytes[..<end]), from: start, isAtEnd: false, into: &part) else {
          continue
        }
        if part.end != whole.end || part.cells.map(\.range) != whole.cells.map(\.range) {
          wrong.append("\(start)..<\(end): \(part)")
        }
      }
      start = whole.end
    }
    #expect(wrong == [])
  }

  @Test func bytesThatAreNotUTF8HaveNoText() throws {
    let cell = CSVRecord.Cell(range: 0..<2)
    #expect(CSVScanner.text(of: cell, in: [0x61, 0xE4]) == nil)
    #expect(CSVScanner.text(of: CSVRecord.Cell(range: 0..<1), in: [0x61, 0xE4]) == "a")
  }
}
