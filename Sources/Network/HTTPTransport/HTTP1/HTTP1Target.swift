// The target of a request, and the host that it names.
//
//   target := path query? | scheme "://" authority path? query? | "*"

/// A target in one of its forms, split into the host and the rest.
struct HTTP1Target {
  /// The path and the query, or `*`.
  let path: String
  /// The host of an absolute target.
  let authority: String?

  init(_ target: ArraySlice<UInt8>, method: String) throws(HTTP1Refusal) {
    guard method != "CONNECT" else { throw HTTP1Refusal(501, text: "This server is no proxy.") }
    guard target.allSatisfy({ $0 > ASCII.space && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
      throw .malformed("The target of the request has a character that has to be encoded.")
    }
    let text = String(decoding: target, as: UTF8.self)
    if target.first == UInt8(ascii: "/") {
      (path, authority) = (text, nil)
    } else if text == "*" {
      guard method == "OPTIONS" else { throw .malformed("The target * is only for the method OPTIONS.") }
      (path, authority) = (text, nil)
    } else {
      (path, authority) = try Self.parts(ofAbsolute: target)
    }
  }

  private static func parts(
    ofAbsolute target: ArraySlice<UInt8>
  ) throws(HTTP1Refusal) -> (path: String, authority: String?) {
    guard let scheme = ["http://", "https://"].first(where: { isPrefix($0, of: target) }) else {
      throw .malformed("The target of the request begins with no slash.")
    }
    let rest = target.dropFirst(scheme.utf8.count)
    let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    guard !authority.isEmpty, isAuthority(authority) else {
      throw .malformed("The target of the request names no valid host.")
    }
    let path = String(decoding: rest[authority.endIndex...], as: UTF8.self)
    return (path.hasPrefix("/") ? path : "/" + path, String(decoding: authority, as: UTF8.self))
  }

  private static func isPrefix(_ prefix: String, of target: ArraySlice<UInt8>) -> Bool {
    target.count >= prefix.utf8.count && zip(prefix.utf8, target).allSatisfy { $0 == ASCII.lowercase($1) }
  }

  /// Whether all characters may be in a host with a port. User names are refused, because a host after one
  /// could be taken for another.
  static func isAuthority(_ text: ArraySlice<UInt8>) -> Bool {
    text.allSatisfy { byte in
      if ASCII.isLetter(byte) || ASCII.isDigit(byte) { return true }
      switch byte {
      case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ":"),
        UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "%"):
        return true
      default: return false
      }
    }
  }
}
