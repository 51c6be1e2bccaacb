// A context reads certificates and keys, refuses those that cannot work, and replaces them.

#if TLS

import Foundation
import Harness
import Testing

@testable import HTTPTransport

@Suite struct TLSContextTests {
  private let directory = TemporaryDirectory()

  /// Returns the file and the reason of the error that a context throws.
  private func refusal(
    _ files: TLSFiles, _ certificate: String, _ key: String
  ) throws -> (file: String, reason: String) {
    let error = #expect(throws: TransportError.self) { try files.context(certificate, key) }
    guard case .certificate(let file, let reason) = error else {
      Issue.record("another error: \(error.map(String.init(describing:)) ?? "none")")
      return ("", "")
    }
    #expect(!reason.isEmpty)
    return (String(file.dropFirst(files.folder.count + 1)), reason)
  }

  @Test func filesThatFitHaveNoWarnings() throws {
    #expect(try TLSFiles.copied(to: directory).context().warnings.isEmpty)
  }

  @Test(arguments: [
    // The certificate's file, the key's file, which of them is wrong, and a part of the reason.
    ("missing.pem", "server-key.pem", "missing.pem", "No such file"),
    ("server.pem", "missing.pem", "missing.pem", "No such file"),
    ("server.pem", "renewed-key.pem", "renewed-key.pem", "key values mismatch"),
    ("server.pem", "rsa-key.pem", "rsa-key.pem", "key type mismatch"),
    ("server.pem", "encrypted-key.pem", "encrypted-key.pem", "password"),
    ("server.pem", "root.pem", "root.pem", "unsupported"),
    ("server-key.pem", "server-key.pem", "server-key.pem", "no start line"),
    ("empty.pem", "server-key.pem", "empty.pem", "no start line"),
    ("server.pem", "empty.pem", "empty.pem", "unsupported"),
    ("folder", "server-key.pem", "folder", "not a regular file"),
    ("pipe", "server-key.pem", "pipe", "not a regular file"),
    ("large.pem", "server-key.pem", "large.pem", "larger than"),
  ])
  func anUnusableFileIsNamedWithTheReason(
    _ certificate: String, _ key: String, _ file: String, _ reason: String
  ) throws {
    let files = try TLSFiles.copied(to: directory)
    try files.write([], to: "empty.pem")
    try files.write([UInt8](repeating: 10, count: PEMFile.bytesMax + 1), to: "large.pem")
    try FileManager.default.createDirectory(atPath: files.path("folder"), withIntermediateDirectories: true)
    #expect(mkfifo(files.path("pipe"), 0o600) == 0)
    let refused = try refusal(files, certificate, key)
    #expect(refused.file == file)
    #expect(refused.reason.contains(reason), "\(refused.reason)")
  }

  @Test func aChainThatIsCutAnywhereInACertificateIsRefused() throws {
    let files = try TLSFiles.copied(to: directory)
    let whole = try TLSFiles.bytes("server.pem")
    let end = Array("-----END CERTIFICATE-----".utf8)
    let firstEnd = try #require(whole.firstRange(of: end)).upperBound
    // Each byte around the borders of the two certificates, and some within them.
    let counts = whole.indices.filter { count in
      [0, firstEnd, whole.count].contains { abs($0 - count) < 40 } || count % 10 == 0
    }
    for count in counts {
      try files.write(Array(whole[..<count]), to: "cut.pem")
      let isComplete =
        whole[..<count].suffix(end.count) == end[...] || whole[..<count].suffix(26) == end + [10]
      let context = try? files.context("cut.pem")
      #expect((context != nil) == isComplete, "cut after \(count) bytes")
    }
  }

  @Test func aDamagedIntermediateCertificateIsRefused() throws {
    let files = try TLSFiles.copied(to: directory)
    var text = try TLSFiles.bytes("server.pem")
    let begin = Array("-----BEGIN CERTIFICATE-----\n".utf8)
    // The first byte of the certificate, which makes it a sequence in ASN.1.
    text[try #require(text.ranges(of: begin).last).upperBound] = UInt8(ascii: "A")
    try files.write(text, to: "damaged.pem")
    #expect(try refusal(files, "damaged.pem", "server-key.pem").file == "damaged.pem")
  }

  @Test func aKeyThatIsCutAnywhereIsRefused() throws {
    let files = try TLSFiles.copied(to: directory)
    let whole = try TLSFiles.bytes("server-key.pem")
    for count in 0..<whole.count - 1 {
      try files.write(Array(whole[..<count]), to: "cut-key.pem")
      #expect(throws: TransportError.self, "cut after \(count) bytes") {
        try files.context("server.pem", "cut-key.pem")
      }
    }
  }

  @Test func damagedCertificatesAndKeysNeverTrap() throws {
    let files = try TLSFiles.copied(to: directory)
    for name in ["server.pem", "server-key.pem"] {
      let whole = try TLSFiles.bytes(name)
      for position in stride(from: 0, to: whole.count, by: 11) {
        var damaged = whole
        damaged[position] ^= 0x11
        try files.write(damaged, to: "damaged.pem")
        // Some damage is not detected here: that of a signature, or of text between the certificates.
        _ =
          try? name == "server.pem"
          ? files.context("damaged.pem") : files.context("server.pem", "damaged.pem")
      }
    }
  }

  @Test func textAroundTheBlocksIsIgnored() throws {
    let files = try TLSFiles.copied(to: directory)
    let text = Array("Certificate of\r\n a server - with dashes -----\n".utf8)
    try files.write(text + TLSFiles.bytes("server.pem") + text, to: "text.pem")
    _ = try files.context("text.pem")
  }

  // MARK: Warnings

  @Test(arguments: [(0o600, false), (0o640, false), (0o604, true), (0o602, true), (0o644, true)])
  func aKeyThatAllUsersMayReadIsReported(_ mode: Int, _ isReported: Bool) throws {
    let files = try TLSFiles.copied(to: directory)
    try files.setMode(mode, of: "server-key.pem")
    let warnings = try files.context().warnings
    #expect(warnings.count == (isReported ? 1 : 0))
    #expect(warnings.allSatisfy { $0.contains("server-key.pem") })
  }

  @Test func anExpiredCertificateIsReported() throws {
    let warnings = try TLSFiles.copied(to: directory).context("expired.pem", "expired-key.pem").warnings
    #expect(warnings.count == 1)
    #expect(warnings.allSatisfy { $0.contains("expired.pem: the certificate has expired") })
  }

  // MARK: Reload

  /// Whether a connection of the context has a certificate that this root has signed.
  private func isTrusted(_ context: TLSContext, by root: String, _ files: TLSFiles) throws -> Bool {
    let pair = try TLSPair(context, files.clientContext(root))
    return (try? pair.exchange()) != nil && pair.client.isReady
  }

  @Test func laterConnectionsHaveTheReloadedCertificate() throws {
    let files = try TLSFiles.copied(to: directory)
    let context = try files.context()
    let before = try TLSPair(context, files.clientContext("root.pem"))
    try files.write(TLSFiles.bytes("renewed.pem"), to: "server.pem")
    try files.write(TLSFiles.bytes("renewed-key.pem"), to: "server-key.pem")
    #expect(try isTrusted(context, by: "root.pem", files))
    try context.reload()
    #expect(try isTrusted(context, by: "other-root.pem", files))
    #expect(try !isTrusted(context, by: "root.pem", files))
    // A connection that began earlier goes on with the old certificate.
    try before.exchange()
    #expect(before.client.isReady)
  }

  @Test func aFailedReloadKeepsTheOldCertificateAndNamesTheFile() throws {
    let files = try TLSFiles.copied(to: directory)
    let context = try files.context()
    // The new certificate is there, and its key is not.
    try files.write(TLSFiles.bytes("renewed.pem"), to: "server.pem")
    let error = #expect(throws: TransportError.self) { try context.reload() }
    #expect(error == .certificate(file: files.path("server-key.pem"), reason: "key values mismatch"))
    #expect(try isTrusted(context, by: "root.pem", files))
    try FileManager.default.removeItem(atPath: files.path("server.pem"))
    #expect(throws: TransportError.self) { try context.reload() }
    #expect(try isTrusted(context, by: "root.pem", files))
  }

  @Test func aReloadReplacesTheWarnings() throws {
    let files = try TLSFiles.copied(to: directory)
    let context = try files.context()
    try files.setMode(0o644, of: "server-key.pem")
    #expect(context.warnings.isEmpty)
    try context.reload()
    #expect(context.warnings.count == 1)
  }

  @Test func connectionsBeginWhileTheCertificateIsReloaded() async throws {
    let files = try TLSFiles.copied(to: directory)
    let context = try files.context()
    let clients = try files.clientContext()
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { for _ in 0..<50 { try context.reload() } }
      for _ in 0..<2 {
        group.addTask {
          for _ in 0..<25 {
            let pair = try TLSPair(context, clients)
            try pair.exchange()
            #expect(pair.server.isReady)
          }
        }
      }
      try await group.waitForAll()
    }
  }
}

#endif
