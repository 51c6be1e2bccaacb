// The arrays that the server sends in a session. They are numbered from 1, and kept until the client has
// acknowledged them.
//
//   piece := length "\n" "[" array *("," array) "]"
//   array := "[" number ",[" content "]]"
//
// The length counts the UTF-16 code units after the line break, because clients read text in JavaScript.
// Array 0 is the answer to the opening request.

/// Arrays without an acknowledgement, oldest first.
struct ChannelArrays {
  private struct Item {
    /// A value in JSON.
    let content: [UInt8]
    /// The bytes that do not count as UTF-16 code units of their own.
    let excess: Int
  }

  /// The memory of an array besides its content.
  private static let itemBytes = 64

  private var items: [Item] = []
  /// The number of the last array that the client has acknowledged.
  private(set) var acknowledged: UInt64 = 0
  /// The bytes of the contents that are kept.
  private(set) var contentBytes = 0
  /// The memory of these contents. Arrays of bytes that have grown reserve up to twice their bytes.
  private var contentCapacity = 0

  /// The number of the last array.
  var last: UInt64 { acknowledged + UInt64(items.count) }
  var count: Int { items.count }
  /// The memory that the arrays take.
  var heldBytes: Int { contentCapacity + items.count * Self.itemBytes }

  /// Adds an array with one value in JSON.
  mutating func append(_ content: [UInt8]) {
    items.append(Item(content: content, excess: content.count - UTF16Length.of(content)))
    contentBytes += content.count
    contentCapacity += content.capacity
  }

  /// Drops the arrays up to this one. Returns false if the client cannot have received it.
  mutating func acknowledge(_ number: UInt64) -> Bool {
    guard number <= last else { return false }
    guard number > acknowledged else { return true }
    let count = Int(number - acknowledged)
    for item in items[..<count] {
      contentBytes -= item.content.count
      contentCapacity -= item.content.capacity
    }
    items.removeFirst(count)
    acknowledged = number
    return true
  }

  /// Arrays in the form of the protocol.
  struct Piece {
    let bytes: [UInt8]
    let count: Int
  }

  /// The arrays after this one, as many as have about this number of bytes, and one at least. Nil if there
  /// are none.
  func piece(after number: UInt64, bytesMax: Int, arraysMax: Int) -> Piece? {
    guard number >= acknowledged, number < last else { return nil }
    let first = Int(number - acknowledged)
    var count = 0
    var size = 1
    var excess = 0
    while first + count < items.count {
      let item = items[first + count]
      guard count == 0 || size + item.content.count <= bytesMax && count < arraysMax else { break }
      // A comma follows, or the bracket at the end.
      size += item.content.count + Decimal.digitCount(number + UInt64(count) + 1) + 6
      excess += item.excess
      count += 1
    }
    return Piece(
      bytes: bytes(items[first..<(first + count)], after: number, size: size, excess: excess),
      count: count)
  }

  /// The bytes of a piece, whose arrays and brackets have this size.
  private func bytes(
    _ items: ArraySlice<Item>, after number: UInt64, size: Int, excess: Int
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size + 12)
    Decimal.append(UInt64(size - excess), to: &bytes)
    bytes.append(UInt8(ascii: "\n"))
    bytes.append(UInt8(ascii: "["))
    var last = number
    for item in items {
      if last > number { bytes.append(UInt8(ascii: ",")) }
      last += 1
      bytes.append(UInt8(ascii: "["))
      Decimal.append(last, to: &bytes)
      bytes.append(UInt8(ascii: ","))
      bytes.append(UInt8(ascii: "["))
      bytes.append(contentsOf: item.content)
      bytes.append(UInt8(ascii: "]"))
      bytes.append(UInt8(ascii: "]"))
    }
    bytes.append(UInt8(ascii: "]"))
    return bytes
  }

  /// An answer of one piece in ASCII.
  static func framed(_ text: String) -> [UInt8] { Array("\(text.utf8.count)\n\(text)".utf8) }
}

/// The length of UTF-8 in JavaScript.
enum UTF16Length {
  /// The number of UTF-16 code units. A sequence of four bytes becomes two units, and every other one unit.
  static func of(_ bytes: [UInt8]) -> Int {
    // Most messages are in ASCII. This loop looks at many bytes at a time.
    var bits: UInt8 = 0
    for byte in bytes { bits |= byte }
    guard bits >= 0x80 else { return bytes.count }
    var units = 0
    for byte in bytes {
      if byte & 0xC0 != 0x80 { units += 1 }
      if byte >= 0xF0 { units += 1 }
    }
    return units
  }
}

/// Numbers as text, without a string for each.
private enum Decimal {
  static func digitCount(_ number: UInt64) -> Int {
    var count = 1
    var rest = number
    while rest >= 10 {
      rest /= 10
      count += 1
    }
    return count
  }

  static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    var divisor: UInt64 = 1
    while number / divisor >= 10 { divisor *= 10 }
    while divisor > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
      divisor /= 10
    }
  }
}
