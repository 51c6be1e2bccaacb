// The options of `dugout serve`, checked before anything is created.

import DugoutServer
import Foundation

struct ServeOptions {
  /// The directory with the databases.
  var directory: String
  var configuration = ServerConfiguration()
  /// The databases that are created unless they exist. An import and an export are about the first one.
  var created: [String]
  /// The project of an import and an export.
  var project: String?
  var importPath: String?
  var exportPath: String?
  var readyFile: String?
  /// Sentences for the user that do not keep the server from starting.
  var warnings: [String] = []

  static let buildAdvice =
    "Build it with: swift build -c release --traits Server,TLS --product dugout. "
    + "That needs libnghttp2 and OpenSSL 3 (apt-get install libnghttp2-dev libssl-dev)."

  init(_ arguments: Arguments) throws {
    directory = try PathArgument.file(arguments.positional[0])
    created = arguments.values(of: "--create")
    project = arguments.value(of: "--project")
    importPath = try arguments.value(of: "--import").map(PathArgument.file)
    exportPath = try arguments.value(of: "--export-on-exit").map(PathArgument.file)
    readyFile = try arguments.value(of: "--ready-file").map(PathArgument.file)
    try readAddresses(arguments)
    try readTLS(arguments)
    configuration.isBehindProxy = arguments.has("--behind-proxy")
    configuration.trustedProxies = arguments.values(of: "--trusted-proxy")
    configuration.isEmulator = arguments.has("--emulator")
    configuration.allowsAnyAddress = arguments.has("--insecure-any-address")
    configuration.allowedHosts = arguments.values(of: "--allow-host")
    configuration.allowedOrigins = arguments.values(of: "--allow-origin")
    configuration.drainSeconds =
      try Self.number(arguments, "--drain-seconds", in: 0...3600) ?? configuration.drainSeconds
    configuration.log = try Self.log(arguments)
    try readSecret(arguments)
    try checkCopies()
  }

  private mutating func readAddresses(_ arguments: Arguments) throws {
    configuration.port = try Self.number(arguments, "--port", in: 0...65535) ?? configuration.port
    configuration.address = arguments.value(of: "--address") ?? configuration.address
    configuration.adminPort = try Self.number(arguments, "--admin-port", in: 0...65535)
    guard let adminAddress = arguments.value(of: "--admin-address") else { return }
    guard configuration.adminPort != nil else {
      throw CommandFailure(code: .usage, message: "--admin-address needs --admin-port.")
    }
    configuration.adminAddress = adminAddress
  }

  private mutating func readTLS(_ arguments: Arguments) throws {
    let files = arguments.values(of: "--tls")
    guard files.count >= 2 else { return }
    #if TLS
    let (certificate, key) = (files[files.count - 2], files[files.count - 1])
    for file in [certificate, key] where access(try PathArgument.file(file), R_OK) != 0 {
      throw CommandFailure(
        code: .inputOutput, message: "\(file) cannot be read: \(String(cString: strerror(errno))).")
    }
    configuration.tls = TLSFiles(certificate: certificate, key: key)
    if let warning = SecretFile.warning(key) { warnings.append(warning) }
    #else
    throw CommandFailure(
      code: .usage, message: "--tls: this program was built without the trait TLS. \(Self.buildAdvice)")
    #endif
  }

  private mutating func readSecret(_ arguments: Arguments) throws {
    guard let file = arguments.value(of: "--admin-secret-file") else {
      guard configuration.isEmulator else {
        throw CommandFailure(
          code: .usage,
          message: "requests need a secret, unless the server is an --emulator for tests. Create one:\n\n"
            + "  \(SecretFile.creation("admin-secret"))\n\n"
            + "Then add --admin-secret-file admin-secret.")
      }
      return
    }
    let secret = try SecretFile(file: PathArgument.file(file))
    configuration.adminSecret = secret.text
    if let warning = secret.warning { warnings.append(warning) }
  }

  /// Checks which database an import and an export are about.
  private func checkCopies() throws {
    if !created.isEmpty, project != nil {
      throw CommandFailure(
        code: .usage, message: "--create names the project: leave out --project.")
    }
    guard exportPath != nil, created.isEmpty, project == nil, importPath == nil else { return }
    throw CommandFailure(
      code: .usage,
      message: "--export-on-exit needs --project ID, or --create DATABASE, to know what it exports.")
  }

  private static func log(_ arguments: Arguments) throws -> ServerLog {
    // The log calls this on a thread of its own.
    let write: @Sendable (String) -> Void = { line in
      try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
    }
    switch arguments.value(of: "--log") {
    case nil: return .none
    case "json": return ServerLog(format: .json, write: write)
    case "text": return ServerLog(format: .text, write: write)
    case let other?:
      throw CommandFailure(
        code: .usage, message: "there is no format \"\(other)\" for a log. The formats are json and text.")
    }
  }

  private static func number(
    _ arguments: Arguments, _ option: String, in range: ClosedRange<Int>
  ) throws -> Int? {
    guard let text = arguments.value(of: option) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw CommandFailure(
        code: .usage,
        message: "\(option) needs a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\".")
    }
    return number
  }
}
