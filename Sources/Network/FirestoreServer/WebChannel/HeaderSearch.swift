// The credentials of a form that has not arrived completely.

internal import OfflineSync

/// Finds the list of header fields at the beginning of a form, whose bytes come in pieces.
struct HeaderSearch {
  /// The list has to end within these bytes.
  static let bytesMax = 64 * 1024
  private static let key = Array("headers=".utf8)

  /// The beginning of the pair that has not arrived completely.
  private var start = 0
  private var position = 0

  /// Looks at the bytes that are new. Returns the list when it has arrived. Throws INVALID_ARGUMENT if it is
  /// malformed.
  mutating func list(in form: [UInt8]) throws(RemoteError) -> [UInt8]? {
    while position < min(form.count, Self.bytesMax) {
      position += 1
      guard form[position - 1] == UInt8(ascii: "&") else { continue }
      let pair = form[start..<(position - 1)]
      start = position
      guard pair.starts(with: Self.key) else { continue }
      var pairs = FormPairs(Array(pair))
      return try pairs.next()?.value
    }
    return nil
  }
}
