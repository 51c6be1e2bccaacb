// Splits CSV into records (RFC 4180).
//
//   record := cell (separator cell)* (LF | CR | CRLF | end)
//   cell   := bytes | "\"" (bytes | "\"\"")* "\"" blanks
//
// A quote opens a quoted cell only at the cell's start. Line breaks in quotes belong to the cell.

/// One record. The ranges are indexes of the scanned bytes.
struct CSVRecord {
  struct Cell {
    /// The bytes of the cell without its quotes.
    var range: Range<Int>
    var isQuoted = false
    /// Whether the cell contains doubled quotes.
    var hasDoubledQuotes = false
  }

  var cells: [Cell] = []
  /// The index after the record's line break.
  var end = 0
}

/// A record that is not CSV.
enum CSVProblem: Error {
  /// The quote at this index has no end.
  case quoteWithoutEnd(Int)
  /// Text follows the closing quote before this index.
  case textAfterQuote(Int)
}

struct CSVScanner {
  private static let quote = UInt8(ascii: "\"")
  private static let newline = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")

  let separator: UInt8

  /// Scans the record that begins at `start`. Returns false if the bytes end within it and more can follow.
  func scan(
    _ bytes: [UInt8], from start: Int, isAtEnd: Bool, into record: inout CSVRecord
  ) throws(CSVProblem) -> Bool {
    record.cells.removeAll(keepingCapacity: true)
    let span = bytes.span
    let (count, separator) = (span.count, separator)
    var place = start
    while true {
      var cell: CSVRecord.Cell
      if place < count, span[place] == Self.quote {
        guard let quoted = try Self.quoted(span, from: place, isAtEnd: isAtEnd) else { return false }
        cell = quoted
        place = quoted.range.upperBound + 1
        while place < count, Self.isBlank(span[place]), span[place] != separator { place += 1 }
      } else {
        let first = place
        while place < count {
          let byte = span[place]
          if byte == separator || byte == Self.newline || byte == Self.carriageReturn { break }
          place += 1
        }
        cell = CSVRecord.Cell(range: first..<place)
      }
      record.cells.append(cell)
      guard place < count else {
        record.end = place
        return isAtEnd
      }
      switch span[place] {
      case separator: place += 1
      case Self.newline:
        record.end = place + 1
        return true
      case Self.carriageReturn:
        // The other half of the line break may follow.
        guard place + 1 < count || isAtEnd else { return false }
        record.end = place + 1 < count && span[place + 1] == Self.newline ? place + 2 : place + 1
        return true
      default: throw .textAfterQuote(place)
      }
    }
  }

  /// Returns nil if the bytes end within the cell and more can follow.
  private static func quoted(
    _ span: Span<UInt8>, from open: Int, isAtEnd: Bool
  ) throws(CSVProblem) -> CSVRecord.Cell? {
    var cell = CSVRecord.Cell(range: open + 1..<open + 1, isQuoted: true)
    var place = open + 1
    while place < span.count {
      guard span[place] == quote else {
        place += 1
        continue
      }
      // The next byte says whether the quote is doubled.
      guard place + 1 < span.count || isAtEnd else { return nil }
      guard place + 1 < span.count, span[place + 1] == quote else {
        cell.range = open + 1..<place
        return cell
      }
      cell.hasDoubledQuotes = true
      place += 2
    }
    guard isAtEnd else { return nil }
    throw .quoteWithoutEnd(open)
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// Returns the text of a cell; nil if it is not UTF-8.
  static func text(of cell: CSVRecord.Cell, in bytes: [UInt8]) -> String? {
    guard cell.hasDoubledQuotes else { return String(validating: bytes[cell.range], as: UTF8.self) }
    var content: [UInt8] = []
    content.reserveCapacity(cell.range.count)
    var place = cell.range.lowerBound
    while place < cell.range.upperBound {
      content.append(bytes[place])
      place += bytes[place] == quote ? 2 : 1
    }
    return String(validating: content, as: UTF8.self)
  }
}
