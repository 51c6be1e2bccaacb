// Configurations that would expose data are refused, with a sentence that names the option.

import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct ConfigurationCheckTests {
  private func configured(_ change: (inout ServerConfiguration) -> Void) -> ServerConfiguration {
    var configuration = ServerConfiguration()
    configuration.adminSecret = TestServer.secret
    change(&configuration)
    return configuration
  }

  private func error(_ change: (inout ServerConfiguration) -> Void) -> ServerError? {
    do throws(ServerError) {
      _ = try configured(change).check()
      return nil
    } catch {
      return error
    }
  }

  @Test func theDefaultsLackOnlyTheSecret() throws {
    #expect(throws: ServerError.missingAdminSecret) { try ServerConfiguration().check() }
    #expect(error { _ in } == nil)
    #expect(ServerConfiguration().address == "127.0.0.1")
    #expect(!ServerConfiguration().isEmulator)
  }

  @Test func theErrorOfAMissingSecretSaysHowToCreateOne() {
    #expect(ServerError.missingAdminSecret.description.contains("/dev/urandom"))
    #expect(ServerError.missingAdminSecret.description.contains("--admin-secret-file"))
  }

  @Test func secretsHaveSixteenPrintableCharacters() {
    #expect(error { $0.adminSecret = "0123456789abcdef" } == nil)
    for secret in ["", "0123456789abcde", "0123456789abcdef 1", "0123456789abcdef\n", "0123456789abcdefé"] {
      guard case .unusableAdminSecret? = error({ $0.adminSecret = secret }) else {
        Issue.record("accepted \(secret)")
        continue
      }
    }
    // An emulator needs none, but a bad one is still refused.
    #expect(
      error {
        $0.isEmulator = true
        $0.adminSecret = nil
      } == nil)
    #expect(
      error {
        $0.isEmulator = true
        $0.adminSecret = "short"
      } != nil)
  }

  @Test(arguments: ["0.0.0.0", "192.168.1.2", "::", "2001:db8::1", "::ffff:10.0.0.1"])
  func otherMachinesNeedEncryption(address: String) {
    #expect(error { $0.address = address } == .unencryptedAddress(address))
    #expect(
      error {
        $0.address = address
        $0.tls = TLSFiles(certificate: "c", key: "k")
      } == nil)
    #expect(
      error {
        $0.address = address
        $0.isBehindProxy = true
        $0.allowedHosts = ["db.example"]
      } == nil)
    #expect(ServerError.unencryptedAddress(address).description.contains("--tls"))
  }

  @Test(arguments: ["127.0.0.1", "127.255.0.3", "::1", "localhost", "::ffff:127.0.0.1", "0:0:0:0:0:0:0:1"])
  func addressesOfThisMachineNeedNone(address: String) {
    #expect(error { $0.address = address } == nil)
  }

  @Test func anEmulatorElsewhereNeedsAnOptionAndWarns() throws {
    let exposed: (inout ServerConfiguration) -> Void = { configuration in
      configuration.isEmulator = true
      configuration.address = "0.0.0.0"
    }
    #expect(error(exposed) == .exposedEmulator("0.0.0.0"))
    // Encryption does not help, because the emulator wants no credentials.
    #expect(
      error { configuration in
        exposed(&configuration)
        configuration.tls = TLSFiles(certificate: "c", key: "k")
      } == .exposedEmulator("0.0.0.0"))
    let allowed = configured { configuration in
      exposed(&configuration)
      configuration.allowsAnyAddress = true
    }
    #expect(allowed.warnings(try allowed.check().address).contains { $0.contains("delete everything") })
    let safe = configured { $0.isEmulator = true }
    #expect(safe.warnings(try safe.check().address).isEmpty)
  }

  @Test func anyAddressIsForEmulators() {
    #expect(error { $0.allowsAnyAddress = true } == .anyAddressWithoutEmulator)
  }

  @Test func aProxyNeedsTheNamesOfTheServer() {
    #expect(error { $0.isBehindProxy = true } == .missingAllowedHosts)
    #expect(ServerError.missingAllowedHosts.description.contains("--allow-host"))
  }

  @Test func numbersAreInTheirRanges() {
    #expect(error { $0.port = 65_536 } == .invalidPort(65_536))
    #expect(error { $0.port = -1 } == .invalidPort(-1))
    #expect(error { $0.adminPort = 65_536 } == .invalidPort(65_536))
    #expect(error { $0.drainSeconds = -1 } == .invalidNumber(option: "drainSeconds", value: -1))
    #expect(error { $0.databasesMax = 0 } == .invalidNumber(option: "databasesMax", value: 0))
  }

  @Test func hostsAndOriginsAreChecked() {
    for host in ["", "a b", "https://a", "a:80", "a/b", "user@a", "a..b", ".a", "a."] {
      #expect(throws: ServerError.invalidHost(host)) {
        try TestServer { $0.allowedHosts = [host] }
      }
    }
    for origin in ["", "null", "*", "a.example", "https://a.example/", "https://a.example/path", "https://"] {
      #expect(throws: ServerError.invalidOrigin(origin)) {
        try TestServer { $0.allowedOrigins = [origin] }
      }
    }
  }

  @Test func aReasonThatEndsWithAFullStopHasOne() {
    for reason in ["it is short", "it is short."] {
      let text = ServerError.invalidDatabase("x", reason: reason).description
      #expect(text.contains("'x' is not a database: it is short. Use the form "), "\(text)")
    }
  }
}

@Suite struct IPAddressTests {
  @Test(
    arguments: [
      ("127.0.0.1", [127, 0, 0, 1]), ("0.0.0.0", [0, 0, 0, 0]), ("255.255.255.255", [255, 255, 255, 255]),
      ("::ffff:1.2.3.4", [1, 2, 3, 4]), ("::ffff:102:304", [1, 2, 3, 4]),
    ] as [(String, [UInt8])])
  func parsesVersion4(text: String, bytes: [UInt8]) {
    #expect(IPAddress(text)?.bytes == bytes)
  }

  @Test func parsesVersion6() {
    #expect(IPAddress("::1")?.bytes == [UInt8](repeating: 0, count: 15) + [1])
    #expect(IPAddress("::")?.isAny == true)
    #expect(IPAddress("1:2:3:4:5:6:7:8")?.bytes == [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8])
    #expect(IPAddress("1::8") == IPAddress("1:0:0:0:0:0:0:8"))
    #expect(IPAddress("FE80::A") == IPAddress("fe80::a"))
    #expect(IPAddress("1::") == IPAddress("1:0:0:0:0:0:0:0"))
  }

  @Test(arguments: [
    "", "1", "127.1", "127.0.0.01", "0177.0.0.1", "0x7f.0.0.1", "256.0.0.1", "1.2.3", "1.2.3.4.5", "1.2.3.4 ",
    "+1.2.3.4", "1..2.3", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "g::",
    "fe80::1%eth0", "[::1]", "::1.2.3", "1.2.3.4::", "1:2:3:4:5:6:7::8:9", "::+1",
    "1111111111111111111111111111111111111111111111111",
  ])
  func refusesOtherTexts(text: String) { #expect(IPAddress(text) == nil) }
}
