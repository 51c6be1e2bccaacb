// Recognizes the format of a plain file, by its name and its first bytes.

import Foundation

enum PlainFormat: String, Codable {
  case json, csv

  /// Guesses the format. The content decides, unless the name says what the file is.
  static func guess(_ path: String, _ content: some Collection<UInt8>) -> PlainFormat {
    let ending = path.split(separator: ".").last?.lowercased() ?? ""
    guard !["csv", "tsv", "tab"].contains(ending) else { return .csv }
    guard !["json", "jsonl", "ndjson"].contains(ending) else { return .json }
    let first = content.drop { CSVScanner.isBlank($0) || $0 == 0x0A || $0 == 0x0D }.first
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[") ? .json : .csv
  }

  // MARK: Separators

  private static let separators: [(byte: UInt8, name: String)] = [
    (UInt8(ascii: ","), "commas"), (UInt8(ascii: ";"), "semicolons"), (UInt8(ascii: "\t"), "tabs"),
    (UInt8(ascii: "|"), "bars"),
  ]

  /// Guesses the separator of a table from the first line: the separator that is there most often, outside
  /// of quotes.
  static func separator(_ path: String, _ content: some Collection<UInt8>) -> UInt8 {
    let ending = path.split(separator: ".").last?.lowercased() ?? ""
    guard !["tsv", "tab"].contains(ending) else { return UInt8(ascii: "\t") }
    var counts = [Int](repeating: 0, count: separators.count)
    var isQuoted = false
    // Blank lines in front are skipped by the reader, too.
    for byte in content.drop(while: { CSVScanner.isBlank($0) || $0 == 0x0A || $0 == 0x0D }) {
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      guard !isQuoted else { continue }
      if byte == 0x0A || byte == 0x0D { break }
      if let place = separators.firstIndex(where: { $0.byte == byte }) { counts[place] += 1 }
    }
    let most = counts.max() ?? 0
    return separators[most == 0 ? 0 : counts.firstIndex(of: most) ?? 0].byte
  }

  static func name(ofSeparator byte: UInt8) -> String {
    separators.first { $0.byte == byte }?.name ?? "\"\(Unicode.Scalar(byte))\""
  }

  // MARK: Other formats

  /// The first bytes of files that are not text, each with what to do instead. A command reads FILE.
  private static let others: [(mark: [UInt8], name: String, advice: String)] = [
    ([0x1F, 0x8B], "compressed with gzip", "\"gunzip -c FILE"),
    (Array("BZh".utf8), "compressed with bzip2", "\"bunzip2 -c FILE"),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A], "compressed with xz", "\"xz -dc FILE"),
    ([0x28, 0xB5, 0x2F, 0xFD], "compressed with zstd", "\"zstd -dc FILE"),
    (
      [0x50, 0x4B, 0x03, 0x04], "a zip archive or a spreadsheet",
      "Save it as CSV, or unzip it, and import that."
    ),
    (Array("PAR1".utf8), "in the format Parquet", "Convert it to CSV or to lines of JSON, and import that."),
    (
      Array("SQLite format 3".utf8), "a database of SQLite",
      "\"sqlite3 -csv -header FILE 'select * from TABLE'"
    ),
    ([0xFF, 0xFE], "in UTF-16", "\"iconv -f UTF-16 -t UTF-8 FILE"),
    ([0xFE, 0xFF], "in UTF-16", "\"iconv -f UTF-16 -t UTF-8 FILE"),
  ]

  /// Throws if the file is not text in UTF-8, and says what to do.
  static func requireText(_ path: String, _ content: ArraySlice<UInt8>) throws {
    let name = path == "-" ? "standard input" : path
    if let other = others.first(where: { content.starts(with: $0.mark) }) {
      throw refusal(name, "is \(other.name)", advice: other.advice)
    }
    if let encoding = UTF16Guess.encoding(of: Data(content.prefix(4096)), at: 0) {
      throw refusal(name, "looks like UTF-16", advice: "\"iconv -f \(encoding) -t UTF-8 FILE")
    }
  }

  /// Advice that begins with a quote is a command whose output can be imported.
  private static func refusal(_ name: String, _ problem: String, advice: String) -> CommandFailure {
    let pipe = " | dugout import DIR - --into COLLECTION\" imports its contents."
    return CommandFailure(
      code: .badData,
      message: "\(name) \(problem). Nothing was imported. \(advice)\(advice.hasPrefix("\"") ? pipe : "")")
  }
}
