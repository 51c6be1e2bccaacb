// The proxies whose clients share addresses and connections.
//
//   range := address [ "/" bits ]          bits beyond the prefix are zero

/// The addresses from which proxies connect.
struct TrustedProxies: Sendable {
  /// The addresses that begin with these bits.
  private struct Range: Hashable, Sendable {
    let address: IPAddress
    let bits: Int

    func contains(_ other: IPAddress) -> Bool {
      address.isVersion6 == other.isVersion6 && other.masked(to: bits) == address
    }
  }

  private let ranges: [Range]
  private let isBehindProxy: Bool

  /// Reads the ranges of a configuration, which listens on `address`.
  init(_ configuration: ServerConfiguration, listeningOn address: IPAddress) throws(ServerError) {
    isBehindProxy = configuration.isBehindProxy
    let admin = configuration.adminPort == nil ? nil : IPAddress(configuration.adminAddress)
    var ranges: [Range] = []
    for text in configuration.trustedProxies {
      let range = try Self.range(text)
      guard !address.isLoopback || range.address.isLoopback else {
        throw .uselessTrustedProxy(text, address: configuration.address)
      }
      // A socket of IPv6 accepts no connections of IPv4.
      guard Self.reaches(address, range) || Self.reaches(admin, range) else {
        throw .unreachableTrustedProxy(text, isVersion6: range.address.isVersion6)
      }
      ranges.append(range)
    }
    self.ranges = ranges
  }

  /// Whether an address is a proxy's. Without ranges, everything that reaches a server behind a proxy is one.
  /// Otherwise only the ranges count, and this machine if the server is behind a proxy.
  func contains(_ peer: String) -> Bool {
    guard !ranges.isEmpty else { return isBehindProxy }
    // The address of a link names the interface, too.
    guard let address = IPAddress(peer.prefix { $0 != "%" }) else { return false }
    return isBehindProxy && address.isLoopback || ranges.contains { $0.contains(address) }
  }

  private static func reaches(_ address: IPAddress?, _ range: Range) -> Bool {
    address?.isVersion6 == range.address.isVersion6
  }

  private static func range(_ text: String) throws(ServerError) -> Range {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = IPAddress(parts[0]) else {
      throw .invalidTrustedProxy(text, reason: "it has no literal IPv4 or IPv6 address")
    }
    let bitsMax = address.bytes.count * 8
    // An IPv4 address in IPv6 is the IPv4 address, and the first 96 bits say only that.
    let mappedBits = parts[0].contains(":") && !address.isVersion6 ? 96 : 0
    let bitsMin = bitsMin(address)
    guard let bits = parts.count == 1 ? bitsMax : number(parts[1]).map({ $0 - mappedBits }), bits <= bitsMax
    else {
      throw .invalidTrustedProxy(
        text, reason: "the number of bits has to be from \(bitsMin + mappedBits) to \(bitsMax + mappedBits)")
    }
    guard bits != 0 else {
      throw .invalidTrustedProxy(text, reason: "that is every address, so the limit would hold for none")
    }
    guard bits > 0 else {
      throw .invalidTrustedProxy(
        text,
        reason: "the first \(mappedBits) bits say only that it is an IPv4 address, so it needs at least "
          + "\(bitsMin + mappedBits)")
    }
    guard bits >= bitsMin else {
      throw .invalidTrustedProxy(
        text,
        reason: "a range of fewer than \(bitsMin + mappedBits) bits has the addresses of strangers, for whom "
          + "the limits have to hold")
    }
    guard address.masked(to: bits) == address else {
      let first = "\(address.masked(to: bits))/\(bits)"
      throw .invalidTrustedProxy(
        text, reason: "the address has more than \(bits) bits: did you mean \(first)?")
    }
    return Range(address: address, bits: bits)
  }

  /// The shortest prefix of a network that one operator has. Private networks of IPv6 are larger than others.
  private static func bitsMin(_ address: IPAddress) -> Int {
    guard address.isVersion6 else { return 8 }
    if address.masked(to: 10).bytes.starts(with: [0xFE, 0x80]) { return 10 }
    return address.bytes[0] & 0xFE == 0xFC ? 7 : 16
  }

  /// A number of at most three digits, without a leading zero.
  private static func number(_ text: Substring) -> Int? {
    let digits = text.utf8
    guard (1...3).contains(digits.count),
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      digits.count == 1 || digits.first != UInt8(ascii: "0")
    else { return nil }
    return Int(text)
  }
}
