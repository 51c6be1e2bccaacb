// Versions of HTTP, as ALPN (RFC 7301) names them.

/// A version of HTTP that the two sides of an encrypted connection agree on.
package enum ApplicationProtocol: Sendable, CaseIterable {
  case http1
  case h2

  private var name: StaticString { self == .h2 ? "h2" : "http/1.1" }

  /// The list of these protocols in the format of ALPN.
  static func list(_ protocols: [ApplicationProtocol]) -> [UInt8] {
    protocols.flatMap { offered in
      offered.name.withUTF8Buffer { name in unsafe [UInt8(name.count)] + Array(name) }
    }
  }
}
