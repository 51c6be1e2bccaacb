// The tokens of pages: base64 without padding, in the alphabet for URLs, of a protobuf message.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

/// The place at which the next page begins. Callers must not look into it, and need not be believed: a forged
/// token only begins at another place of the same list.
struct PageToken: WireMessage {
  /// The last name of the page before.
  var last = ""
  /// The last document's values of the fields by which the list is ordered. Empty if they are large: the
  /// document is then read again.
  var values: [StoredValue] = []
  /// Distinguishes lists, so that the token of another list is refused.
  var list: Int64 = 0

  init() {}

  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
    try visitor.string(1, "last", in: &last)
    try visitor.values(2, "values", in: &values)
    try visitor.int64(3, "list", in: &list)
  }

  // MARK: Text

  static let invalid = RemoteError(.invalidArgument, "invalid page token")

  /// Reads a token of a list; nil for an empty text, which asks for the first page.
  init?(_ text: String, of list: Int64) throws(RemoteError) {
    guard !text.isEmpty else { return nil }
    guard let bytes = Base64.decode(Array(text.utf8)), let token = try? PageToken(protobuf: bytes),
      token.list == list
    else { throw Self.invalid }
    self = token
  }

  /// The maximum size of a token in bytes. Its text is a parameter of a URL.
  private static let bytesMax = 6 * 1024

  func text() throws(RemoteError) -> String {
    do throws(WireError) {
      var bytes = try protobuf()
      if bytes.count > Self.bytesMax {
        var small = self
        small.values = []
        bytes = try small.protobuf()
      }
      let digits = Base64.encode(bytes).compactMap { digit -> UInt8? in
        switch digit {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        case UInt8(ascii: "="): nil
        default: digit
        }
      }
      return String(decoding: digits, as: UTF8.self)
    } catch {
      throw RemoteError(error)
    }
  }

  /// A number for a list with these properties: FNV-1a over their texts.
  static func list(_ properties: [String]) -> Int64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for property in properties {
      for byte in Array(property.utf8) + [0] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
    return Int64(bitPattern: hash)
  }
}

extension ServiceOptions {
  /// The number of entries in a page: as asked for, within the limit.
  func pageCount(_ asked: Int32, standard: Int) -> Int { asked == 0 ? standard : min(Int(asked), pageMax) }
}
