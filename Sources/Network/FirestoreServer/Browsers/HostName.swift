// The host that a client has named, in `Host` or `:authority`.
//
//   authority := host [":" port]
//   host      := name | IPv4 address | "[" IPv6 address "]"
//   name      := label *("." label)               letters, digits, "-" and "_"

/// A host without its port.
enum HostName: Hashable, Sendable {
  /// A name in lower case.
  case name(String)
  case address(IPAddress)

  /// Parses a host with or without a port. Nil for anything else, such as a host with a user, an empty label
  /// or a dot at its end.
  init?(authority: some StringProtocol) {
    guard let parts = Self.parts(of: authority), parts.port.map(Self.isPort) ?? true else { return nil }
    self.init(host: parts.host)
  }

  /// Parses a host without a port. An IPv6 address may lack its brackets.
  init?(_ text: String) {
    if let address = IPAddress(text) {
      self = .address(address)
    } else if let parts = Self.parts(of: text), parts.port == nil {
      self.init(host: parts.host)
    } else {
      return nil
    }
  }

  private init?(host: Substring.UTF8View.SubSequence) {
    if host.first == UInt8(ascii: "[") {
      guard host.last == UInt8(ascii: "]"), let address = IPAddress(Substring(host.dropFirst().dropLast())),
        address.isVersion6 || host.contains(UInt8(ascii: ":"))
      else { return nil }
      self = .address(address)
    } else if let address = IPAddress(Substring(host)) {
      self = .address(address)
    } else {
      guard !host.isEmpty, host.count <= Self.bytesMax, host.allSatisfy(Self.isNameByte),
        host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty })
      else { return nil }
      self = .name(Substring(host).lowercased())
    }
  }

  private static let bytesMax = 253

  /// Whether no name server can let the name stand for another machine.
  var isLoopback: Bool {
    switch self {
    case .name(let name): name == "localhost" || name.utf8.suffix(10).elementsEqual(".localhost".utf8)
    case .address(let address): address.isLoopback
    }
  }

  var isAddress: Bool { if case .address = self { true } else { false } }

  /// Splits a host and a port.
  private static func parts(
    of text: some StringProtocol
  ) -> (host: Substring.UTF8View.SubSequence, port: Substring.UTF8View.SubSequence?)? {
    let utf8 = Substring(text).utf8
    let colon = UInt8(ascii: ":")
    if utf8.first == UInt8(ascii: "[") {
      guard let end = utf8.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      let after = utf8[utf8.index(after: end)...]
      guard after.isEmpty || after.first == colon else { return nil }
      return (utf8[...end], after.isEmpty ? nil : after.dropFirst())
    }
    guard let place = utf8.firstIndex(of: colon) else { return (utf8[...], nil) }
    return (utf8[..<place], utf8[utf8.index(after: place)...])
  }

  private static func isPort(_ text: Substring.UTF8View.SubSequence) -> Bool {
    text.count <= 5 && text.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
      && UInt16(Substring(text)) != nil
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}
