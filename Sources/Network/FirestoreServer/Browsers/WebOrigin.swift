// The origin of a web page, as browsers send it in `Origin`.
//
//   origin := scheme "://" host [":" port]

/// The scheme, the host and the port of a page.
struct WebOrigin: Hashable, Sendable {
  let scheme: String
  let host: HostName
  /// Nil if it is the port of the scheme.
  let port: UInt16?

  /// Parses an origin. Nil for anything else, such as `null`, which pages without an origin send.
  init?(_ text: String) {
    guard text.utf8.count <= Self.bytesMax, let separator = text.firstRange(of: "://") else { return nil }
    let scheme = text[..<separator.lowerBound].lowercased()
    let authority = text[separator.upperBound...]
    guard Self.isScheme(scheme), let host = HostName(authority: authority) else { return nil }
    self.scheme = scheme
    self.host = host
    port = Self.port(of: authority, scheme)
  }

  private static let bytesMax = 1024

  /// Whether the page comes from a web server of this machine.
  var isLoopback: Bool { (scheme == "http" || scheme == "https") && host.isLoopback }

  private static func isScheme(_ text: String) -> Bool {
    guard let first = text.utf8.first, first >= UInt8(ascii: "a"), first <= UInt8(ascii: "z") else {
      return false
    }
    return text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"),
        UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
  }

  private static func port(of authority: Substring, _ scheme: String) -> UInt16? {
    guard let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":")),
      let port = UInt16(authority[authority.utf8.index(after: colon)...])
    else { return nil }
    let standard: UInt16? =
      switch scheme {
      case "http": 80
      case "https": 443
      default: nil
      }
    return port == standard ? nil : port
  }
}
