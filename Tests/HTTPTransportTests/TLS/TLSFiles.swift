// Certificates and keys for the tests of TLS.

#if TLS

import Foundation
import Harness

@testable import HTTPTransport

/// The files of `Tests/Fixtures/TLS`, or copies of them.
struct TLSFiles {
  /// The files themselves. Their modes depend on the checkout.
  static let originals = TLSFiles(
    folder: URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Fixtures/TLS").path)

  let folder: String

  static func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: originals.path(name))))
  }

  /// Copies all files. Only the owner may read the keys.
  static func copied(to directory: TemporaryDirectory) throws -> TLSFiles {
    let files = TLSFiles(folder: directory.path)
    try directory.create()
    for name in try FileManager.default.contentsOfDirectory(atPath: originals.folder)
    where name.hasSuffix(".pem") {
      try directory.write(bytes(name), to: name)
      try files.setMode(name.hasSuffix("key.pem") ? 0o600 : 0o644, of: name)
    }
    return files
  }

  func path(_ name: String) -> String { "\(folder)/\(name)" }

  func write(_ bytes: [UInt8], to name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
  }

  func setMode(_ mode: Int, of name: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
  }

  func context(_ certificate: String = "server.pem", _ key: String = "server-key.pem") throws -> TLSContext {
    try TLSContext(certificateFile: path(certificate), keyFile: path(key))
  }

  func clientContext(
    _ trusted: String = "root.pem", excludesTLS13: Bool = false
  ) throws -> TLSClientContext {
    try TLSClientContext(trustedFile: path(trusted), excludesTLS13: excludesTLS13)
  }
}

#endif
