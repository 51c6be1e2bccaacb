// The head of an answer, line by line as libcurl passes it.

/// Reads the lines of a head. Heads with a status from 100 to 199 come before the one that counts.
struct HeadReader {
  private static let bytesMax = 256 * 1024

  private(set) var status = 0
  private(set) var fields: [String: String] = [:]
  /// Whether the head is complete. Lines after it are of trailers.
  private(set) var isComplete = false
  var isTooLong: Bool { byteCount > Self.bytesMax }
  private var byteCount = 0
  private var lastName: String?

  /// Takes a line with its end. Returns false if the head is longer than any that a server sends.
  mutating func take(_ line: [UInt8]) -> Bool {
    byteCount += line.count
    guard !isTooLong else { return false }
    guard !isComplete else { return true }
    var text = line[...]
    while let last = text.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") { text.removeLast() }
    if text.starts(with: "HTTP/".utf8) {
      begin(text)
    } else if text.isEmpty {
      isComplete = status >= 200
    } else if let first = text.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
      // A value that continues.
      if let lastName { fields[lastName]? += " \(Self.trimmed(text))" }
    } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
      add(Self.trimmed(text[..<colon]).lowercased(), Self.trimmed(text[(colon + 1)...]))
    }
    return true
  }

  private mutating func begin(_ line: ArraySlice<UInt8>) {
    let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
    let digits = words.count > 1 ? words[1] : []
    let isNumber =
      digits.count == 3 && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    status = isNumber ? digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } : 0
    (fields, lastName) = ([:], nil)
  }

  private mutating func add(_ name: String, _ value: String) {
    if let known = fields[name] { fields[name] = "\(known), \(value)" } else { fields[name] = value }
    lastName = name
  }

  private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
    func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    var rest = bytes.drop(while: isSpace)
    while let last = rest.last, isSpace(last) { rest.removeLast() }
    return String(decoding: rest, as: UTF8.self)
  }
}
