// Refuses configurations that are not safe or cannot work.

extension ServerConfiguration {
  private static let secretBytes = 16...4096
  private static let drainRange = 0...3600
  private static let databasesRange = 1...100_000

  /// Throws unless the configuration is safe and complete. Returns the address to listen on, and the one of
  /// the admin listener.
  func check() throws(ServerError) -> (address: IPAddress, admin: IPAddress) {
    let address = try Self.parsed(address)
    let admin = try Self.parsed(adminAddress)
    for port in [port, adminPort ?? 0] {
      guard (0...Int(UInt16.max)).contains(port) else { throw .invalidPort(port) }
    }
    guard Self.drainRange.contains(drainSeconds) else {
      throw .invalidNumber(option: "drainSeconds", value: drainSeconds)
    }
    guard Self.databasesRange.contains(databasesMax) else {
      throw .invalidNumber(option: "databasesMax", value: databasesMax)
    }
    _ = try TrustedProxies(self, listeningOn: address)
    try checkSecret()
    try checkExposure(of: address)
    return (address, admin)
  }

  private static func parsed(_ text: String) throws(ServerError) -> IPAddress {
    guard let address = IPAddress(text == "localhost" ? "127.0.0.1" : text) else {
      throw .invalidAddress(text)
    }
    return address
  }

  private func checkSecret() throws(ServerError) {
    guard let adminSecret else {
      guard isEmulator else { throw .missingAdminSecret }
      return
    }
    let bytes = adminSecret.utf8
    guard bytes.count >= Self.secretBytes.lowerBound else {
      throw .unusableAdminSecret(reason: "has \(bytes.count) characters and needs 16")
    }
    guard bytes.count <= Self.secretBytes.upperBound else {
      throw .unusableAdminSecret(reason: "has \(bytes.count) characters and may have 4096")
    }
    guard bytes.allSatisfy({ $0 > UInt8(ascii: " ") && $0 <= UInt8(ascii: "~") }) else {
      throw .unusableAdminSecret(reason: "has spaces, line breaks or characters that are not ASCII")
    }
  }

  private func checkExposure(of address: IPAddress) throws(ServerError) {
    guard isEmulator || !allowsAnyAddress else { throw .anyAddressWithoutEmulator }
    guard !isBehindProxy || !allowedHosts.isEmpty else { throw .missingAllowedHosts }
    guard !address.isLoopback else { return }
    if isEmulator {
      guard allowsAnyAddress else { throw .exposedEmulator(self.address) }
    } else {
      guard tls != nil || isBehindProxy else { throw .unencryptedAddress(self.address) }
    }
  }

  /// Sentences about what is allowed but dangerous, for the log at the start.
  func warnings(_ address: IPAddress) -> [String] {
    var warnings: [String] = []
    if isEmulator, !address.isLoopback {
      warnings.append(
        "the emulator listens on \(self.address): every machine that reaches it can read and delete everything"
      )
    } else if isEmulator, isBehindProxy {
      warnings.append("the emulator is behind a proxy: all its clients can read and delete everything")
    }
    if isEmulator, tls == nil, !address.isLoopback { warnings.append("connections are not encrypted") }
    return warnings
  }
}
