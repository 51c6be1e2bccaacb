// Which connections are those of proxies, and how their addresses are written.

import Testing

@testable import FirestoreServer

@Suite struct TrustedProxiesTests {
  private func proxies(
    _ ranges: [String], address: String? = nil, isBehindProxy: Bool = false,
    change: (inout ServerConfiguration) -> Void = { _ in }
  ) throws(ServerError) -> TrustedProxies {
    let address = address ?? Self.address(for: ranges.first ?? "")
    var configuration = ServerConfiguration()
    change(&configuration)
    configuration.trustedProxies = ranges
    configuration.address = address
    configuration.isBehindProxy = isBehindProxy
    return try TrustedProxies(configuration, listeningOn: IPAddress(address) ?? IPAddress("::1")!)
  }

  /// All addresses of the version of a range.
  private static func address(for range: String) -> String {
    range.contains(":") && !range.hasPrefix("::ffff:") ? "::" : "0.0.0.0"
  }

  private func error(_ range: String, address: String? = nil) -> ServerError? {
    do throws(ServerError) { _ = try proxies([range], address: address) } catch { return error }
    return nil
  }

  @Test(
    arguments: [
      ("10.0.0.5", ["10.0.0.5", "::ffff:10.0.0.5"], ["10.0.0.4", "::10.0.0.5", "10.0.0.50"]),
      ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"], ["11.0.0.0", "9.255.255.255"]),
      ("172.16.0.0/12", ["172.16.0.1", "172.31.255.255"], ["172.32.0.0", "172.15.255.255"]),
      ("192.0.2.128/25", ["192.0.2.128", "192.0.2.255"], ["192.0.2.127"]),
      ("128.0.0.0/8", ["128.0.0.0", "128.255.255.255"], ["127.255.255.255", "129.0.0.0", "8000::"]),
      ("::ffff:10.0.0.0/104", ["10.9.9.9", "::ffff:10.9.9.9"], ["11.0.0.0", "::"]),
      ("::ffff:a00:5", ["10.0.0.5"], ["10.0.0.6"]),
      ("fd00::/8", ["fd00::1", "fdff:ffff::"], ["fe00::", "10.0.0.1"]),
      ("2001:db8::/33", ["2001:db8:7fff::1"], ["2001:db8:8000::", "2001:db9::"]),
      ("2001:db8::1", ["2001:db8::1"], ["2001:db8::2"]),
      ("fe80::/10", ["fe80::1%eth0"], ["fec0::1%eth0"]),
    ] as [(String, [String], [String])])
  func aRangeHasTheAddressesThatBeginWithItsBits(range: String, inside: [String], outside: [String]) throws {
    let proxies = try proxies([range])
    #expect(inside.filter { !proxies.contains($0) } == [])
    #expect(outside.filter { proxies.contains($0) } == [])
  }

  @Test(arguments: [
    "", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8/8",
    "10.0.0.0/8 ", " 10.0.0.0/8", "10.0.0.0/255.0.0.0", "10.0.0/8", "10/8", "10.0.0.0\\8",
    "proxy.example.org",
    "localhost", "fd00::/129", "fd00::/1000", "[fd00::]/8", "::ffff:10.0.0.0/129", "::ffff:10.0.0.0/8",
    "10.0.0.0-10.0.0.9", "10.0.0.*", "fe80::1%eth0", "10.0.0.1:8080", "10.0.0.5,10.0.0.6",
  ])
  func otherTextsAreRefused(text: String) {
    guard case .invalidTrustedProxy(text, _) = error(text) else {
      Issue.record("\(text): \(String(describing: error(text)))")
      return
    }
  }

  @Test func aRangeOfAllAddressesIsRefused() {
    for text in ["0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96"] {
      #expect(error(text)?.description.contains("that is every address") == true, "\(text)")
    }
  }

  @Test(arguments: [
    ("0.0.0.0/1", 8), ("128.0.0.0/1", 8), ("12.0.0.0/7", 8), ("8000::/1", 16), ("2000::/3", 16),
    ("2001::/15", 16), ("fe80::/9", 10), ("fc00::/6", 7), ("::ffff:128.0.0.0/97", 104),
  ])
  func aRangeOfManyNetworksIsRefused(text: String, bits: Int) {
    #expect(error(text)?.description.contains("fewer than \(bits) bits") == true, "\(error(text) as Any)")
  }

  @Test func theFirstBitsOfAnIPv4AddressInIPv6AreNone() {
    let reason = error("::ffff:10.0.0.0/8")?.description
    #expect(reason?.contains("the first 96 bits say only that it is an IPv4 address") == true)
    #expect(reason?.contains("at least 104") == true)
    #expect(error("::ffff:10.0.0.0/129")?.description.contains("from 104 to 128") == true)
  }

  @Test(arguments: [
    ("fd00::/8", "0.0.0.0", true), ("10.0.0.5", "::", false), ("10.0.0.5", "2001:db8::1", false),
  ])
  func aProxyOfAnotherVersionIsRefused(text: String, address: String, isVersion6: Bool) throws {
    let error = error(text, address: address)
    #expect(error == .unreachableTrustedProxy(text, isVersion6: isVersion6))
    #expect(error?.description.contains("--address ADDRESS") == true)
    // The admin listener has an address of its own.
    _ = try proxies([text], address: address) { configuration in
      configuration.adminPort = 0
      configuration.adminAddress = isVersion6 ? "::" : "0.0.0.0"
    }
  }

  @Test func anAddressWithMoreBitsThanItsRangeGetsAdvice() {
    for (text, advice) in [
      ("10.0.0.5/8", "did you mean 10.0.0.0/8?"), ("192.0.2.129/25", "did you mean 192.0.2.128/25?"),
      ("2001:db8::1/32", "did you mean 2001:db8::/32?"), ("::ffff:10.0.0.5/104", "did you mean 10.0.0.0/8?"),
    ] {
      #expect(error(text)?.description.contains(advice) == true, "\(error(text)?.description ?? "no error")")
    }
  }

  @Test func aProxyThatCannotReachTheServerIsRefused() throws {
    let error = error("10.0.0.5", address: "127.0.0.1")
    #expect(error == .uselessTrustedProxy("10.0.0.5", address: "127.0.0.1"))
    #expect(error?.description.contains("--address ADDRESS") == true)
    #expect(try proxies(["127.0.0.0/8"], address: "127.0.0.1").contains("127.0.0.1"))
  }

  @Test func aWrongProxyIsRefusedWhenTheServerIsCreated() {
    #expect(throws: ServerError.invalidTrustedProxy("x", reason: "it has no literal IPv4 or IPv6 address")) {
      try TestServer { $0.trustedProxies = ["x"] }
    }
  }

  @Test func withoutAProxyNoConnectionIsAProxys() throws {
    #expect(try ["10.0.0.5", "127.0.0.1", "::1"].allSatisfy { try !proxies([]).contains($0) })
  }

  @Test func behindAProxyWithoutANameEveryConnectionIsAProxys() throws {
    #expect(
      try ["10.0.0.5", "127.0.0.1", "::1"].allSatisfy { try proxies([], isBehindProxy: true).contains($0) })
  }

  @Test func behindNamedProxiesOnlyTheyAndThisMachineCount() throws {
    let proxies = try proxies(["10.0.0.0/8"], isBehindProxy: true)
    #expect(["10.0.0.5", "127.0.0.1", "::1"].allSatisfy { proxies.contains($0) })
    #expect(!proxies.contains("192.0.2.1"))
    #expect(try !self.proxies(["10.0.0.0/8"]).contains("127.0.0.1"), "nothing says that it is a proxy")
  }
}
