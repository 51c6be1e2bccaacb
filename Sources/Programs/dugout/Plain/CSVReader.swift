// Reads the records of a CSV input one by one.

import Foundation

final class CSVReader {
  /// No document is longer, so longer records are not buffered.
  static let recordBytesMax = 16 << 20

  let input: InputBytes
  private let scanner: CSVScanner
  private(set) var record = CSVRecord()
  /// The offset of the record, and its line.
  private(set) var start: UInt64 = 0

  init(_ input: InputBytes, separator: UInt8) {
    self.input = input
    scanner = CSVScanner(separator: separator)
  }

  /// The line on which the record begins.
  var line: Int { input.line }

  /// The offset after the record.
  var end: UInt64 { input.offset + UInt64(record.end - input.start) }

  /// The bytes of the record without its line break.
  var bytes: ArraySlice<UInt8> {
    var bytes = input.bytes[input.start..<record.end]
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    return bytes
  }

  func seek(to offset: UInt64) throws {
    try input.seek(to: offset)
    record = CSVRecord()
    start = offset
  }

  /// Reads the next record that is not an empty line. Returns false at the end, and in a sample also if the
  /// last record is incomplete. A record counts as read even if a `JSONProblem` about it is thrown.
  func next() throws -> Bool {
    repeat {
      guard try read() else { return false }
    } while isEmptyLine
    return true
  }

  private var isEmptyLine: Bool {
    record.cells.count == 1 && record.cells[0].range.isEmpty && !record.cells[0].isQuoted
  }

  private func read() throws -> Bool {
    if record.end > input.start { input.consume(upTo: record.end) }
    if input.offset == 0 { try skipByteOrderMark() }
    start = input.offset
    record.end = input.start
    while true {
      if input.start < input.bytes.count {
        do throws(CSVProblem) {
          if try scanner.scan(input.bytes, from: input.start, isAtEnd: input.isAtEnd, into: &record) {
            return true
          }
        } catch {
          throw problem(error)
        }
      } else if !input.hasMore {
        return false
      }
      guard input.bytes.count - input.start <= Self.recordBytesMax else {
        throw JSONProblem(
          message: "the row is longer than \(Self.recordBytesMax >> 20) MiB: \(Self.openQuoteHint)")
      }
      if try !input.more(), !input.isAtEnd { return false }
      record.end = input.start
    }
  }

  private func skipByteOrderMark() throws {
    while input.bytes.count < JSONReader.byteOrderMark.count, try input.more() {}
    if input.bytes[input.start...].starts(with: JSONReader.byteOrderMark) {
      input.consume(upTo: input.start + JSONReader.byteOrderMark.count)
    }
  }

  private static let openQuoteHint = "probably a quote opens in it and does not end"

  private func problem(_ problem: CSVProblem) -> JSONProblem {
    switch problem {
    case .quoteWithoutEnd(let index):
      let lines = InputBytes.newlines(in: input.bytes, input.start..<index)
      let place = lines == 0 ? "" : " in line \(line + lines)"
      return JSONProblem(
        message: "a quote opens\(place) in column \(record.cells.count + 1) and does not end",
        hint: "End it, or double it if it is part of the text, and repeat the command.")
    case .textAfterQuote:
      return JSONProblem(
        message:
          "in column \(record.cells.count), text follows the quote that ends the value: a quote inside of a "
          + "quoted value has to be doubled")
    }
  }

  /// Returns the text of a cell.
  func text(_ column: Int) throws(JSONProblem) -> String {
    guard let text = CSVScanner.text(of: record.cells[column], in: input.bytes) else {
      throw Self.notUTF8(column)
    }
    return text
  }

  /// Throws unless the record is UTF-8.
  func requireUTF8() throws(JSONProblem) {
    #if !canImport(Darwin)
    // `UTF8Span` exists only on the newest Apple systems. There, each column is checked.
    let bytes = input.bytes
    if (try? UTF8Span(validating: bytes.span.extracting(input.start..<record.end))) != nil { return }
    #endif
    for column in record.cells.indices { _ = try text(column) }
  }

  private static func notUTF8(_ column: Int) -> JSONProblem {
    JSONProblem(
      message: "the value in column \(column + 1) is not UTF-8",
      hint:
        "If the file is from an older spreadsheet program, \"iconv -f WINDOWS-1252 -t UTF-8 FILE | dugout import "
        + "DIR - --into COLLECTION\" imports its contents.")
  }

  /// Throws unless the record has this number of cells.
  func requireCells(_ count: Int) throws(JSONProblem) {
    let cells = record.cells.count
    guard cells != count else { return }
    let hint = cells > count ? ": a value that contains the separator needs quotes around it" : ""
    throw JSONProblem(
      message: "the row has \(Wording.count(cells, "value")), and the first line names "
        + "\(Wording.count(count, "column"))\(hint)")
  }
}
