// The options of `dugout serve`: what is refused before anything is created, and files with secrets.

import DugoutServer
import Foundation
import Synchronization
import Testing

@testable import dugout

@Suite struct ServeOptionsTests {
  private func options(_ words: String...) throws -> ServeOptions {
    try ServeOptions(Arguments(words, of: ServeCommand.self))
  }

  private func failure(_ words: [String]) -> CommandFailure? {
    thrown { _ = try ServeOptions(Arguments(words, of: ServeCommand.self)) } as? CommandFailure
  }

  /// Returns a file with a secret that only its owner reads.
  private func secretFile(_ text: String, in folder: borrowing TemporaryFolder) throws -> String {
    let file = folder.path + "/secret"
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    try #require(chmod(file, 0o600) == 0)
    return file
  }

  @Test func theDefaultsListenOnThisMachineOnly() throws {
    let options = try options("data", "--emulator")
    #expect(options.configuration.address == "127.0.0.1" && options.configuration.port == 8080)
    #expect(options.configuration.isEmulator && !options.configuration.allowsAnyAddress)
    #expect(options.configuration.adminPort == nil && options.configuration.tls == nil)
    #expect(!options.configuration.log.isOn && options.warnings == [])
  }

  @Test func everyOptionReachesTheConfiguration() throws {
    let folder = try TemporaryFolder()
    let secret = try secretFile("0123456789abcdef\n", in: folder)
    let options = try options(
      "data", "--admin-secret-file", secret, "--port=0", "--address", "::1", "--behind-proxy",
      "--trusted-proxy", "10.0.0.5", "--trusted-proxy=fd00::/8", "--allow-host",
      "api.example.org", "--allow-host=b.example.org", "--allow-origin", "https://app.example.org",
      "--insecure-any-address", "--admin-port", "9090", "--admin-address", "127.0.0.2", "--drain-seconds",
      "0",
      "--log", "json", "--ready-file", "ready", "--import", "in", "--export-on-exit", "out", "--project",
      "my-shop")
    let configuration = options.configuration
    #expect(configuration.adminSecret == "0123456789abcdef" && configuration.port == 0)
    #expect(configuration.address == "::1" && configuration.isBehindProxy && configuration.allowsAnyAddress)
    #expect(configuration.allowedHosts == ["api.example.org", "b.example.org"])
    #expect(configuration.trustedProxies == ["10.0.0.5", "fd00::/8"])
    #expect(configuration.allowedOrigins == ["https://app.example.org"])
    #expect(configuration.adminPort == 9090 && configuration.adminAddress == "127.0.0.2")
    #expect(configuration.drainSeconds == 0 && configuration.log.format == .json)
    #expect(options.readyFile == "ready" && options.importPath == "in" && options.exportPath == "out")
    #expect(options.project == "my-shop" && options.created == [] && options.warnings == [])
  }

  #if TLS
  @Test func tlsTakesTwoFilesAndWarnsIfOthersReadTheKey() throws {
    let folder = try TemporaryFolder()
    let (certificate, key) = (folder.path + "/cert.pem", folder.path + "/key.pem")
    for file in [certificate, key] {
      try Data("PEM".utf8).write(to: URL(fileURLWithPath: file))
      try #require(chmod(file, 0o644) == 0)
    }
    let options = try options("data", "--tls", certificate, key, "--emulator")
    #expect(options.configuration.tls == TLSFiles(certificate: certificate, key: key))
    #expect(options.warnings == ["Other users of this machine can read \(key): chmod 600 \(key)"])
    let missing = failure(["data", "--emulator", "--tls", certificate, folder.path + "/none"])
    #expect(missing?.code == .inputOutput && missing?.message.contains("/none cannot be read") == true)
  }
  #endif

  #if !TLS
  @Test func tlsNamesTheTraitThatItNeeds() {
    let failure = failure(["data", "--emulator", "--tls", "cert.pem", "key.pem"])
    #expect(failure?.code == .usage && failure?.message.contains("without the trait TLS") == true)
  }
  #endif

  @Test func combinationsThatSayTooLittleAreRefused() {
    var wrong: [String] = []
    for (words, part) in [
      (["data"], "  (umask 077; head -c 32 /dev/urandom | base64 > admin-secret)\n"),
      (["data", "--emulator", "--port", "65536"], "--port needs a number from 0 to 65535"),
      (["data", "--emulator", "--port", "http"], "not \"http\""),
      (["data", "--emulator", "--drain-seconds", "-1"], "--drain-seconds needs"),
      (["data", "--emulator", "--tls", "cert.pem"], "--tls CERT KEY needs 2 values"),
      (["data", "--emulator", "--log", "xml"], "The formats are json and text"),
      (["data", "--emulator", "--admin-address", "::1"], "needs --admin-port"),
      (["data", "--emulator", "--export-on-exit", "out"], "needs --project ID, or --create DATABASE"),
      (
        ["data", "--emulator", "--create", "projects/a/databases/b", "--project", "c"], "leave out --project"
      ),
    ] {
      let failure = failure(words)
      if failure?.code != .usage || failure?.message.contains(part) != true {
        wrong.append("\(words): \(failure?.message ?? "no failure")")
      }
    }
    #expect(wrong == [])
  }

  // MARK: Secrets

  @Test func aSecretLosesItsLineBreakAndNothingElse() throws {
    let folder = try TemporaryFolder()
    for (text, secret) in [
      ("0123456789abcdef", "0123456789abcdef"), ("0123456789abcdef\n", "0123456789abcdef"),
      ("0123456789abcdef\r\n", "0123456789abcdef"),
    ] {
      #expect(try SecretFile(file: secretFile(text, in: folder)).text == secret)
    }
  }

  @Test func aFileWithoutAUsableSecretIsRefusedWithTheCommandThatCreatesOne() throws {
    let folder = try TemporaryFolder()
    var wrong: [String] = []
    for (text, part) in [
      ("", "has 0 characters, and needs at least 16"), ("0123456789abcde\n", "has 15 characters"),
      ("0123456789 abcdef", "is not a secret"), ("0123456789abcdef\n\n", "is not a secret"),
      ("0123456789abcdefé", "is not a secret"), (String(repeating: "a", count: 4098), "is not a secret"),
    ] {
      let file = try secretFile(text, in: folder)
      let failure = thrown { _ = try SecretFile(file: file) } as? CommandFailure
      let message = failure?.message ?? "no failure"
      if failure?.code != .usage || !message.contains(part) || !message.hasSuffix("base64 > \(file))") {
        wrong.append(message)
      }
    }
    #expect(wrong == [])
    let missing = thrown { _ = try SecretFile(file: folder.path + "/none") } as? CommandFailure
    #expect(
      missing?.code == .inputOutput && missing?.message.contains("base64 > \(folder.path)/none)") == true)
  }

  @Test func aSecretThatOthersCanReadIsAWarning() throws {
    let folder = try TemporaryFolder()
    let file = try secretFile("0123456789abcdef", in: folder)
    #expect(try SecretFile(file: file).warning == nil)
    for mode in [0o640, 0o604] as [mode_t] {
      try #require(chmod(file, mode) == 0)
      #expect(
        try SecretFile(file: file).warning
          == "Other users of this machine can read \(file): chmod 600 \(file)")
    }
  }

  /// The command in the help and in the errors creates a file that the server accepts.
  @Test func theCommandThatCreatesASecretWorks() throws {
    let folder = try TemporaryFolder()
    let file = folder.path + "/it's a secret"
    let outcome = try Program(path: "/bin/bash").run("--norc", "-c", SecretFile.creation(file))
    try #require(outcome.status == 0, "\(outcome.complaint)")
    let secret = try SecretFile(file: file)
    #expect(secret.warning == nil && secret.text.count == 44)
  }

  // MARK: Output

  @Test func theFirstLineIsTheAddressAndTheVariableOfClientsFollows() {
    func text(_ address: String, emulator: Bool, admin: Int? = nil) -> String {
      var configuration = ServerConfiguration()
      configuration.address = address
      configuration.isEmulator = emulator
      return ServeAddress(configuration, ServerAddresses(port: 8080, adminPort: admin)).text
    }
    #expect(text("127.0.0.1", emulator: false) == "Serving http://127.0.0.1:8080")
    #expect(
      text("::1", emulator: true)
        == "Serving http://[::1]:8080\nexport FIRESTORE_EMULATOR_HOST=[::1]:8080")
    #expect(
      text("0.0.0.0", emulator: true)
        == "Serving http://0.0.0.0:8080\nexport FIRESTORE_EMULATOR_HOST=127.0.0.1:8080")
    #expect(
      text("127.0.0.1", emulator: false, admin: 9090)
        == "Serving http://127.0.0.1:8080, with health and metrics at http://127.0.0.1:9090")
    var configuration = ServerConfiguration()
    configuration.tls = TLSFiles(certificate: "cert.pem", key: "key.pem")
    #expect(ServeAddress(configuration, ServerAddresses(port: 443)).text == "Serving https://127.0.0.1:443")
  }

  /// A program that reads the log as JSON can read every line. In a log for people, sentences are as usual.
  @Test func sentencesHaveTheFormOfTheLog() async throws {
    for (format, part) in [
      (ServerLog.Format.json, #""level":"warning","event":"note","text":"a \"b\"""#),
      (.text, #"Warning: a "b""#),
    ] {
      let lines = Mutex<[String]>([])
      let notes = ServeNotes(ServerLog(format: format) { line in lines.withLock { $0.append(line) } })
      notes.write(.warning, "a \"b\"")
      notes.writeUnlessLogged(.info, "c")
      await notes.flush()
      let written = lines.withLock { $0 }
      #expect(written.count == 1 && written[0].contains(part), "\(written)")
    }
  }

  @Test func theReadyFileHasOneLineOfJSONAndReplacesThatOfAKilledServer() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ready"
    let noProcess = Int32.max
    try Data("{\"port\":1,\"pid\":\(noProcess)}".utf8).write(to: URL(fileURLWithPath: path))
    let file = try ReadyFile(path)
    #expect(!FileManager.default.fileExists(atPath: path))
    try file.write(ServerAddresses(port: 8080))
    #expect(
      try String(contentsOfFile: path, encoding: .utf8)
        == "{\"adminPort\":null,\"pid\":\(getpid()),\"port\":8080}\n")
    try file.write(ServerAddresses(port: 8080, adminPort: 9090))
    #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("{\"adminPort\":9090,"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["ready"])
    file.remove()
    #expect(!FileManager.default.fileExists(atPath: path))
    let lost = try ReadyFile(folder.path + "/none/ready")
    let failure = thrown { try lost.write(ServerAddresses(port: 1)) } as? CommandFailure
    #expect(failure?.code == .inputOutput)
  }

  @Test func otherFilesAreNotTakenForReadyFiles() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ready"
    func content() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
    try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
    let failure = thrown { _ = try ReadyFile(path) } as? CommandFailure
    #expect(try failure?.code == .usage && content() == "precious")
    // The parent process runs, and may be a server.
    let other = "{\"port\":1,\"pid\":\(getppid())}"
    try Data(other.utf8).write(to: URL(fileURLWithPath: path))
    let file = try ReadyFile(path)
    #expect(try content() == other)
    file.remove()
    #expect(try content() == other)
  }
}
