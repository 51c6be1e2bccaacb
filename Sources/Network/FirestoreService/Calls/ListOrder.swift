// The text form of the order in which documents are listed:
//
//   order  := clause (space* "," space* clause)*
//   clause := path space* | path space+ ("asc" | "desc")

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

enum ListOrder {
  /// Parses the order of a list of documents. An empty text is the order of names.
  static func parse(
    _ text: String, of collection: CollectionPath
  ) throws(RemoteError) -> [OrderBy] {
    guard !text.utf8.isEmpty else { return [] }
    let bytes = Array(text.utf8)
    var count = 0
    forEachClause(of: bytes) { _ in count += 1 }
    var reader = try OrderReader(.collection(collection), orders: count)
    try forEachClause(of: bytes) { clause throws(RemoteError) in
      guard let (path, direction) = parts(of: clause) else {
        throw RemoteError(.invalidArgument, "Invalid order by clause \"\(shortened(text))\".")
      }
      try reader.add(path, direction)
    }
    return reader.orders
  }

  /// Splits at commas outside quoted names. Spaces around a comma are part of no clause.
  private static func forEachClause<Failure: Error>(
    of bytes: [UInt8], _ body: (ArraySlice<UInt8>) throws(Failure) -> Void
  ) throws(Failure) {
    var start = 0
    var isQuoted = false
    var isEscaped = false
    for (index, byte) in bytes.enumerated() {
      if byte == UInt8(ascii: "`"), !isEscaped { isQuoted.toggle() }
      isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped
      guard byte == UInt8(ascii: ","), !isQuoted else { continue }
      try body(withoutTrailingSpaces(trimmed(bytes[start..<index], isFirst: start == 0)))
      start = index + 1
    }
    try body(trimmed(bytes[start...], isFirst: start == 0))
  }

  private static func trimmed(_ clause: ArraySlice<UInt8>, isFirst: Bool) -> ArraySlice<UInt8> {
    isFirst ? clause : clause.drop(while: isSpace)
  }

  private static func withoutTrailingSpaces(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var text = text
    while let last = text.last, isSpace(last) { text.removeLast() }
    return text
  }

  /// The path and the direction of a clause; nil if it has another form.
  private static func parts(of clause: ArraySlice<UInt8>) -> (path: String, OrderBy.Direction)? {
    var path = clause
    var direction = OrderBy.Direction.ascending
    for (name, meaning) in [("asc", OrderBy.Direction.ascending), ("desc", .descending)] {
      let rest = clause.dropLast(name.utf8.count)
      guard let space = rest.last, isSpace(space),
        clause[rest.endIndex...].map(lowercased).elementsEqual(name.utf8)
      else { continue }
      (path, direction) = (rest, meaning)
    }
    let text = String(decoding: withoutTrailingSpaces(path), as: UTF8.self)
    guard (try? StoredFieldPath(canonical: text)) != nil else { return nil }
    return (text, direction)
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || (UInt8(ascii: "\t")...UInt8(ascii: "\r")).contains(byte)
  }
}
