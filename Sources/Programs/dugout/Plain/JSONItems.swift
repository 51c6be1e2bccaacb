// Splits a JSON input into its items: the lines, the elements of an array, or values one after another.
//
//   lines   the first line is a whole object: each line is an item
//   values  the first object spans several lines: each value is an item
//   array   the input begins with "[": each element is an item, and nothing follows the array
//
// At most one item and one chunk are in memory.

import Foundation

final class JSONItems {
  enum Framing { case lines, values, array }

  /// The largest item. No document is longer.
  private static let itemBytesMax = 128 << 20

  let input: InputBytes
  let framing: Framing
  /// The bytes of the item, as indexes of the input's window.
  private(set) var item = 0..<0
  /// The offset of the item, and its line.
  private(set) var start: UInt64 = 0
  /// Whether the opening bracket of the array was read, an element of it, and a comma after that element.
  private var isInArray = false
  private var hasElement = false
  private var hasComma = false
  /// Whether the next item may come without a comma, because an earlier run may have read the comma.
  private var isResumed = false
  private var isOver = false

  init(_ input: InputBytes, _ framing: Framing) {
    self.input = input
    self.framing = framing
  }

  /// Decides the framing from the first bytes of an input.
  static func framing(of content: some Collection<UInt8>) -> Framing {
    let rest = content.drop { isSpace($0) }
    guard rest.first != UInt8(ascii: "[") else { return .array }
    let line = rest.prefix { $0 != 0x0A }
    // A line without an end is an item of a single line, however long it is.
    guard line.count < rest.count else { return .lines }
    return (try? JSONReader.read(Data(line)))?.members == nil && isOpen(line) ? .values : .lines
  }

  /// Whether an object begins in the line and does not end there.
  private static func isOpen(_ line: some Collection<UInt8>) -> Bool {
    var scan = JSONExtent()
    return !line.contains { scan.isEnd($0) }
  }

  var line: Int { input.line }
  /// The offset after the item.
  private(set) var end: UInt64 = 0
  /// Whether the item ends because the input ends.
  private(set) var isCutOff = false

  /// Continues at an offset after an item.
  func seek(to offset: UInt64) throws {
    try input.seek(to: offset)
    item = 0..<0
    (start, end) = (offset, offset)
    hasElement = offset > 0
    isInArray = offset > 0
    (hasComma, isResumed) = (false, offset > 0)
    isOver = false
  }

  /// Moves to the next item. Returns false at the end, and in a sample also if the last item is incomplete.
  func next() throws -> Bool {
    if item.upperBound > input.start { input.consume(upTo: item.upperBound) }
    // Reading more moves the window, so the item would no longer be valid.
    item = 0..<0
    guard !isOver, try skipToItem() else {
      end = input.offset
      return false
    }
    start = input.offset
    item = input.start..<input.start
    let isComplete = try framing == .lines ? readLine() : readValue()
    end = start + UInt64(item.count)
    return isComplete
  }

  // MARK: Lines

  private func readLine() throws -> Bool {
    var searched = input.start
    while true {
      if let end = input.bytes[searched...].firstIndex(of: 0x0A) {
        item = input.start..<end
        return true
      }
      let count = input.bytes.count - input.start
      guard try extend() else {
        item = input.start..<input.bytes.count
        isCutOff = true
        return input.isAtEnd
      }
      searched = input.start + count
    }
  }

  // MARK: Values

  private func readValue() throws -> Bool {
    var scan = JSONExtent()
    var scanned = 0
    while true {
      if let end = scan.end(in: input.bytes, from: input.start + scanned) {
        item = input.start..<end
        return true
      }
      scanned = input.bytes.count - input.start
      guard try extend() else {
        item = input.start..<input.bytes.count
        isCutOff = true
        return input.isAtEnd
      }
    }
  }

  /// Reads more of a long item. Returns false at the end.
  private func extend() throws -> Bool {
    guard input.bytes.count - input.start <= Self.itemBytesMax else {
      throw JSONProblem(
        message: "an object is longer than \(Self.itemBytesMax >> 20) MiB, and no document is",
        hint:
          "If the file is one object with a list inside, \"jq -c '.LIST[]' FILE | dugout import DIR - --into "
          + "COLLECTION\" imports the list.")
    }
    return try input.more()
  }

  // MARK: Between items

  /// Consumes white space, and in an array brackets and commas. Returns false at the end.
  private func skipToItem() throws -> Bool {
    while true {
      guard let byte = try peek() else {
        guard framing == .array, input.isAtEnd else { return false }
        start = input.offset
        throw JSONProblem(
          message: "the list has no end: the file was cut off",
          hint: "Write or download it again, and repeat the command.")
      }
      switch byte {
      case _ where Self.isSpace(byte): break
      case 0xEF where input.offset == 0 && isAtByteOrderMark: input.consume(upTo: input.start + 2)
      case _ where framing != .array: return true
      case UInt8(ascii: "[") where !hasElement && !isInArray: isInArray = true
      case UInt8(ascii: ",") where hasElement && !hasComma: hasComma = true
      case UInt8(ascii: "]") where !hasComma: return try endArray()
      case _ where !hasElement || hasComma || isResumed:
        (hasElement, hasComma, isResumed) = (true, false, false)
        return true
      default:
        start = input.offset
        throw JSONProblem(message: "a comma or the end of the list is expected before this")
      }
      input.consume(upTo: input.start + 1)
    }
  }

  private var isAtByteOrderMark: Bool { input.bytes[input.start...].starts(with: JSONReader.byteOrderMark) }

  private func endArray() throws -> Bool {
    input.consume(upTo: input.start + 1)
    item = input.start..<input.start
    isOver = true
    while let byte = try peek() {
      guard Self.isSpace(byte) else {
        start = input.offset
        throw JSONProblem(message: "there is more text after the list")
      }
      input.consume(upTo: input.start + 1)
    }
    return false
  }

  private func peek() throws -> UInt8? {
    while input.start >= input.bytes.count { guard try input.more() else { return nil } }
    return input.bytes[input.start]
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }
}

/// Finds the end of a JSON value without parsing it.
private struct JSONExtent {
  private var depth = 0
  private var isInString = false
  private var isEscaped = false
  private var isScalar = false
  /// Whether the end belongs to the value.
  private(set) var includesEnd = true

  /// Takes the bytes from `start` on, and returns the index after the value; nil if it does not end there.
  mutating func end(in bytes: [UInt8], from start: Int) -> Int? {
    let span = bytes.span
    for place in start..<span.count where isEnd(span[place]) {
      // A scalar ends before the byte that follows it.
      return place + (includesEnd ? 1 : 0)
    }
    return nil
  }

  /// Takes the next byte, and returns whether it ends the value.
  mutating func isEnd(_ byte: UInt8) -> Bool {
    if isInString {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isInString = false
        return depth == 0
      }
      return false
    }
    switch byte {
    case UInt8(ascii: "\""): isInString = true
    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      depth -= 1
      if depth <= 0 {
        includesEnd = depth == 0
        return true
      }
    case UInt8(ascii: ","), 0x20, 0x0A, 0x0D, 0x09:
      if isScalar, depth == 0 {
        includesEnd = false
        return true
      }
    default: isScalar = true
    }
    return false
  }
}
