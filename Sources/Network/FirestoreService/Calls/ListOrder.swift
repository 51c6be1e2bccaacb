// The text form of the order in which documents are listed:
//
//   order  := clause ("," clause)*
//   clause := " "? path (" " ("asc" | "desc"))?

internal import DocumentStore
internal import OfflineSync

enum ListOrder {
  /// Parses an order. An empty text is the order of names.
  static func parse(_ text: String) throws(RemoteError) -> [OrderBy] {
    guard !text.isEmpty else { return [] }
    var orders: [OrderBy] = []
    // A set, because the number of orders is not limited yet.
    var fields: Set<StoredFieldPath> = []
    for clause in clauses(of: text) {
      guard let order = order(clause) else {
        throw RemoteError(.invalidArgument, "Invalid order by clause \"\(text)\".")
      }
      guard orders.last?.field != .documentID else {
        throw RemoteError(
          .invalidArgument, "order by clause cannot contain more fields after the key")
      }
      guard fields.insert(order.field).inserted else {
        throw RemoteError(
          .invalidArgument, "order by clause cannot contain duplicate fields \(order.field)")
      }
      orders.append(order)
    }
    return orders
  }

  /// Splits at commas outside quoted names.
  private static func clauses(of text: String) -> [[UInt8]] {
    var clauses: [[UInt8]] = [[]]
    var isQuoted = false
    var isEscaped = false
    for byte in text.utf8 {
      if byte == UInt8(ascii: "`"), !isEscaped { isQuoted.toggle() }
      isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped
      if byte == UInt8(ascii: ","), !isQuoted {
        clauses.append([])
      } else {
        clauses[clauses.count - 1].append(byte)
      }
    }
    return clauses
  }

  private static func order(_ clause: [UInt8]) -> OrderBy? {
    var text = clause[...]
    if text.first == UInt8(ascii: " ") { text = text.dropFirst() }
    var direction = OrderBy.Direction.ascending
    for (suffix, meaning) in [(" asc", OrderBy.Direction.ascending), (" desc", .descending)]
    where text.suffix(suffix.utf8.count).map(lowercased).elementsEqual(suffix.utf8) {
      direction = meaning
      text = text.dropLast(suffix.utf8.count)
    }
    guard let path = try? StoredFieldPath(canonical: String(decoding: text, as: UTF8.self)) else {
      return nil
    }
    return OrderBy(path, direction)
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
