// Handshakes: versions, ALPN, trust, and any split of the bytes.

#if TLS

import Harness
import Testing

@testable import HTTPTransport

@Suite struct TLSHandshakeTests {
  @Test(arguments: [false, true])
  func aClientThatTrustsTheRootConnects(_ excludesTLS13: Bool) throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext(excludesTLS13: excludesTLS13))
    #expect(!pair.server.isReady)
    #expect(!pair.server.hasOutput)
    try pair.exchange()
    #expect(pair.server.isReady)
    #expect(pair.client.isReady)
    #expect(pair.server.isTLS12 == excludesTLS13)
    #expect(pair.serverPlaintext.isEmpty)
    #expect(pair.clientPlaintext.isEmpty)
  }

  // MARK: ALPN

  @Test(arguments: [
    ([ApplicationProtocol.h2, .http1], ApplicationProtocol.h2), ([.http1, .h2], .h2), ([.h2], .h2),
    ([.http1], .http1), ([], nil),
  ])
  func theServerPrefersHTTP2(
    _ offered: [ApplicationProtocol], _ chosen: ApplicationProtocol?
  ) throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext(), protocols: offered)
    try pair.exchange()
    #expect(pair.server.isReady)
    #expect(pair.server.applicationProtocol == chosen)
    #expect(pair.client.applicationProtocol == chosen)
  }

  /// A client that offers another protocol, or a prefix of a known one, gets the alert that RFC 7301 asks
  /// for.
  @Test(arguments: ["h3", "http/1.0", "h", "h22", "http/1.1x"])
  func aClientWithoutAKnownProtocolIsRefused(_ name: String) throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext(), protocols: [])
    let hello = ClientHello(pair.clientOutput()).adding(protocols: [name])
    let error = #expect(throws: TLSError.self) { try pair.receive(hello[...]) }
    #expect(error == .handshake("no application protocol"))
    #expect(pair.serverOutput().suffix(2) == [2, 120])
  }

  /// The names around a known one do not hide it.
  @Test(arguments: [["h3", "h2"], ["h2", "h3"], ["x", "http/1.1", "h2", "y"]])
  func aKnownProtocolIsFoundAmongOthers(_ names: [String]) throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext(), protocols: [])
    try pair.receive(ClientHello(pair.clientOutput()).adding(protocols: names)[...])
    #expect(pair.server.applicationProtocol == .h2)
  }

  // MARK: Trust

  @Test(arguments: ["localhost", "a.dugout.example", "127.0.0.1", "::1"])
  func theCertificateIsForEachOfItsNames(_ host: String) throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext(), host: host)
    try pair.exchange()
    #expect(pair.client.isReady)
  }

  /// RFC 6066 allows only names in the extension for the server's name.
  @Test func theClientSendsANameButNoAddress() throws {
    let files = TLSFiles.originals
    for (host, isSent) in [("localhost", true), ("127.0.0.1", false), ("::1", false)] {
      let pair = try TLSPair(files.context(), files.clientContext(), host: host)
      let isFound = pair.clientOutput().firstRange(of: Array(host.utf8)) != nil
      #expect(isFound == isSent)
    }
  }

  @Test(arguments: [
    ("example.com", "hostname mismatch"), ("dugout.example", "hostname mismatch"),
    ("a.b.dugout.example", "hostname mismatch"), ("127.0.0.2", "IP address mismatch"),
    ("localhost.", "hostname mismatch"),
  ])
  func aCertificateForAnotherHostIsRefused(_ host: String, _ reason: String) throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext(), host: host)
    try expectRefusal(pair, reason)
  }

  @Test(arguments: [
    // The certificate, its key, the trusted root, and a part of the reason.
    ("server.pem", "server-key.pem", "other-root.pem", "unable to get local issuer"),
    ("renewed.pem", "renewed-key.pem", "root.pem", "unable to get local issuer"),
    ("expired.pem", "expired-key.pem", "root.pem", "certificate has expired"),
  ])
  func aCertificateThatIsNotTrustedIsRefused(
    _ certificate: String, _ key: String, _ root: String, _ reason: String
  ) throws {
    let files = TLSFiles.originals
    try expectRefusal(try TLSPair(files.context(certificate, key), files.clientContext(root)), reason)
  }

  @Test func aChainWithoutTheIntermediateCertificateIsRefused() throws {
    let directory = TemporaryDirectory()
    let files = try TLSFiles.copied(to: directory)
    let text = String(decoding: try TLSFiles.bytes("server.pem"), as: UTF8.self)
    let end = try #require(text.firstRange(of: "-----END CERTIFICATE-----\n"))
    try files.write(Array(text[..<end.upperBound].utf8), to: "leaf.pem")
    let pair = try TLSPair(files.context("leaf.pem"), files.clientContext())
    try expectRefusal(pair, "unable to get local issuer")
    withExtendedLifetime(directory) {}
  }

  /// The client refuses the server, and the server learns why.
  private func expectRefusal(_ pair: TLSPair, _ reason: String) throws {
    try pair.receive(pair.clientOutput()[...])
    let error = #expect(throws: TLSError.self) { try pair.clientReceive(pair.serverOutput()[...]) }
    guard case .handshake(let text)? = error else {
      Issue.record("the error is \(String(describing: error))")
      return
    }
    #expect(text.contains("certificate verify failed"))
    #expect(text.contains(reason), "\(text)")
    #expect(!pair.client.isReady)
    let alert = #expect(throws: TLSError.self) { try pair.receive(pair.clientOutput()[...]) }
    #expect(alert?.description.contains("alert") == true, "\(String(describing: alert))")
    #expect(!pair.server.isReady)
  }

  // MARK: Splits

  @Test(arguments: [false, true])
  func everySplitOfAFlightCompletesTheHandshake(_ excludesTLS13: Bool) throws {
    let files = TLSFiles.originals
    let (context, clients) = (try files.context(), try files.clientContext(excludesTLS13: excludesTLS13))
    var position = 1
    var longest = 0
    repeat {
      let pair = try TLSPair(context, clients)
      try pair.exchange { flight in
        longest = max(longest, flight.count)
        let end = min(position, flight.count)
        return [flight[..<end], flight[end...]]
      }
      #expect(pair.server.isReady && pair.client.isReady, "split after \(position) bytes")
      #expect(pair.server.applicationProtocol == .h2)
      position += 1
    } while position < longest
    #expect(longest > 1000)
  }

  @Test(arguments: [false, true])
  func singleBytesCompleteTheHandshake(_ excludesTLS13: Bool) throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext(excludesTLS13: excludesTLS13))
    try pair.exchange { flight in flight.indices.map { flight[$0...$0] } }
    #expect(pair.server.isReady && pair.client.isReady)
  }

  @Test func outputLeavesInPiecesOfAnySize() throws {
    let files = TLSFiles.originals
    let pair = try TLSPair(files.context(), files.clientContext())
    var pieces = 0
    while pair.client.hasOutput || pair.server.hasOutput {
      try pair.receive(pair.clientOutput(7)[...])
      let output = pair.serverOutput(7)
      #expect(output.count <= 7)
      try pair.clientReceive(output[...])
      pieces += 1
    }
    #expect(pair.server.isReady && pair.client.isReady)
    #expect(pieces > 100)
  }
}

#endif
