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

  /// The number of the last array.
  var last: UInt64 { acknowledged + UInt64(items.count) }
  var count: Int { items.count }
  /// The memory that the arrays take.
  var heldBytes: Int { contentBytes + items.count * Self.itemBytes }

  /// Adds an array with one value in JSON.
  mutating func append(_ content: [UInt8]) {
    items.append(Item(content: content, excess: content.count - UTF16Length.of(content)))
    contentBytes += content.count
  }

  /// Drops the arrays up to this one. Returns false if the client cannot have received it.
  mutating func acknowledge(_ number: UInt64) -> Bool {
    guard number <= last else { return false }
    guard number > acknowledged else { return true }
    let count = Int(number - acknowledged)
    for item in items[..<count] { contentBytes -= item.content.count }
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
    var body: [UInt8] = [UInt8(ascii: "[")]
    var excess = 0
    var count = 0
    for position in Int(number - acknowledged)..<items.count {
      let item = items[position]
      guard count == 0 || body.count + item.content.count <= bytesMax && count < arraysMax else { break }
      if count > 0 { body.append(UInt8(ascii: ",")) }
      body.append(contentsOf: "[\(acknowledged + UInt64(position) + 1),[".utf8)
      body.append(contentsOf: item.content)
      body.append(contentsOf: "]]".utf8)
      excess += item.excess
      count += 1
    }
    body.append(UInt8(ascii: "]"))
    return Piece(bytes: Array("\(body.count - excess)\n".utf8) + body, count: count)
  }

  /// An answer of one piece in ASCII.
  static func framed(_ text: String) -> [UInt8] { Array("\(text.utf8.count)\n\(text)".utf8) }
}

/// The length of UTF-8 in JavaScript.
enum UTF16Length {
  /// The number of UTF-16 code units. A sequence of four bytes becomes two units, and every other one unit.
  static func of(_ bytes: [UInt8]) -> Int {
    var units = 0
    for byte in bytes {
      if byte & 0xC0 != 0x80 { units += 1 }
      if byte >= 0xF0 { units += 1 }
    }
    return units
  }
}
