// `dugout serve` as a process: how it starts, what it says, and how it ends.

import Foundation
import Testing

@testable import dugout

#if Server
@Suite(.timeLimit(.minutes(2))) struct ServeProcessTests {
  private let dugout = Program("dugout")

  private static let export = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Fixtures/FirestoreExport").path

  private func files(_ folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
  }

  // MARK: Starting and ending

  /// Under nohup, the server ignores SIGHUP.
  private static let endingSignals = [SIGTERM, SIGINT] + (ServeSignals.isIgnored(SIGHUP) ? [] : [SIGHUP])

  @Test(arguments: endingSignals) func aSignalEndsTheServerWithCodeZero(signal: Int32) throws {
    let folder = try TemporaryFolder()
    let ready = folder.path + "/ready"
    let server = try ServerProcess(
      folder.path + "/data", "--emulator", "--port", "0", "--admin-port", "0", "--ready-file", ready)
    #expect(server.lines[1] == "export FIRESTORE_EMULATOR_HOST=127.0.0.1:\(server.port)")
    let text = try String(contentsOfFile: ready, encoding: .utf8)
    let object = try JSONReader.read(Data(text.utf8))
    guard case .number(let port)? = object["port"], case .number(let pid)? = object["pid"],
      case .number(let adminPort)? = object["adminPort"]
    else { return #expect(text.isEmpty, "the ready file has other members") }
    #expect(port == "\(server.port)" && pid == "\(server.id)" && text.hasSuffix("}\n"))
    #expect(server.lines[0].hasSuffix("http://127.0.0.1:\(adminPort)"))
    #expect(try server.get("/", port: server.port).hasSuffix("\r\n\r\nOk\n"))
    #expect(try server.get("/readyz", port: Int(adminPort) ?? 0).hasPrefix("HTTP/1.1 200 "))
    server.send(signal)
    let end = server.end()
    #expect(end.status == 0 && end.reason == .exit, "\(end)")
    #expect(files(folder.path) == ["data"])
  }

  @Test func aSecondInterruptEndsTheServerAtOnce() throws {
    let folder = try TemporaryFolder()
    let server = try ServerProcess(
      folder.path + "/data", "--emulator", "--port", "0", "--drain-seconds", "3600", "--log", "text")
    // The drain waits for the rest of this request.
    let connection = try server.connect(server.port)
    let request = "POST /v1/projects/p/databases/(default)/documents/a HTTP/1.1\r\nHost: localhost\r\n"
    connection.write(request + "Content-Length: 100\r\n\r\n{")
    server.send(SIGINT)
    #expect(server.complaint(until: " draining "))
    server.send(SIGINT)
    let end = server.end()
    #expect(end.reason == .uncaughtSignal && end.status == SIGINT, "\(end)")
    connection.close()
  }

  /// The test reads the log after the server has ended.
  @Test func aLogThatIsNotReadStopsNothing() throws {
    let folder = try TemporaryFolder()
    let server = try ServerProcess(folder.path + "/data", "--emulator", "--port", "0", "--log", "json")
    let id = server.id
    // More lines than a pipe has room for.
    for _ in 0..<500 {
      #expect(try server.get("/v1/projects/p/databases/d/documents/a/b", port: server.port).contains("404"))
    }
    server.send(SIGTERM)
    // The end does not wait for a reader. Foundation may take the status of its child first.
    var status = siginfo_t()
    while waitid(P_PID, id_t(id), &status, WEXITED | WNOWAIT) != 0 {
      if errno != EINTR {
        #expect(errno == ECHILD)
        break
      }
    }
    #expect(server.end().status == 0)
  }

  @Test func nothingIsCreatedForOptionsThatAreRefused() throws {
    let folder = try TemporaryFolder()
    let (data, secret) = (folder.path + "/data", folder.path + "/secret")
    try Data("0123456789abcdef".utf8).write(to: URL(fileURLWithPath: secret))
    try #require(chmod(secret, 0o600) == 0)
    var wrong: [String] = []
    for (options, code, part) in [
      ([], 2, "head -c 32 /dev/urandom"),
      (["--emulator", "--address", "0.0.0.0"], 2, "--insecure-any-address"),
      (["--admin-secret-file", secret], 69, "there is no directory"),
      (["--admin-secret-file", secret, "--create", "projects/a/databases/b"], 2, "6 to 30"),
      (["--admin-secret-file", secret, "--create", "x", "--address", "0.0.0.0"], 2, "--tls CERT KEY"),
      (["--admin-secret-file", secret, "--create", "x", "--behind-proxy"], 2, "--allow-host NAME"),
      (["--emulator", "--insecure-any-address", "--address", "example.org"], 2, "not an address"),
      (["--emulator", "--allow-origin", "example.org"], 2, "not an origin"),
    ] as [([String], Int32, String)] {
      let outcome = try dugout.run(["serve", data] + options)
      if outcome.status != code || !outcome.complaint.contains(part) || !outcome.output.isEmpty {
        wrong.append("\(options): \(outcome)")
      }
      if files(data) != [] { wrong.append("\(options) created \(files(data))") }
    }
    #expect(wrong == [])
  }

  @Test func aStoreIsNotTheDirectoryOfAServer() throws {
    let folder = try TemporaryFolder()
    try folder.makeStore()
    let outcome = try dugout.run("serve", folder.path, "--emulator", "--port", "0")
    #expect(outcome.status == 69, "\(outcome)")
    #expect(outcome.complaint.contains("move it to NEW/my-project/_default"), "\(outcome.complaint)")
  }

  @Test func anAddressInUseIsNamed() throws {
    let folder = try TemporaryFolder()
    let server = try ServerProcess(folder.path + "/data", "--emulator", "--port", "0")
    let ready = folder.path + "/ready"
    let second = try dugout.run(
      "serve", folder.path + "/other", "--emulator", "--port", "\(server.port)", "--ready-file", ready)
    #expect(second.status == 69 && second.complaint.contains("127.0.0.1:\(server.port)"), "\(second)")
    #expect(second.output.isEmpty && !FileManager.default.fileExists(atPath: ready))
    server.send(SIGTERM)
    #expect(server.end().status == 0)
  }

  @Test func aReadyFileThatCannotBeWrittenEndsTheServer() throws {
    let folder = try TemporaryFolder()
    let outcome = try dugout.run(
      "serve", folder.path + "/data", "--emulator", "--port", "0", "--ready-file", folder.path + "/none/ready"
    )
    #expect(outcome.status == 74 && outcome.complaint.contains("/none/ready cannot be written"), "\(outcome)")
  }

  @Test func aSecuredServerCreatesItsDatabaseOnce() throws {
    let folder = try TemporaryFolder()
    let secret = folder.path + "/secret"
    try Data("0123456789abcdef\n".utf8).write(to: URL(fileURLWithPath: secret))
    try #require(chmod(secret, 0o644) == 0)
    let name = "projects/my-shop/databases/(default)"
    for isFirst in [true, false] {
      let server = try ServerProcess(
        folder.path + "/data", "--admin-secret-file", secret, "--create", name, "--port", "0")
      #expect(server.lines.count == 1)
      let target = "/v1/\(name)/documents/users"
      #expect(try server.get(target, port: server.port).hasPrefix("HTTP/1.1 401 "))
      let allowed = try server.get(target, port: server.port, secret: "0123456789abcdef")
      #expect(allowed.hasPrefix("HTTP/1.1 200 "), "\(allowed)")
      server.send(SIGTERM)
      let end = server.end()
      #expect(end.status == 0 && end.complaint.contains("Warning: Other users of this machine can read"))
      #expect(end.complaint.contains("Created the database \(name).") == isFirst, "\(end.complaint)")
    }
    #expect(files(folder.path + "/data/my-shop") == ["_default"])
  }

  #if TLS
  private static let openssl = ["/usr/bin/openssl", "/bin/openssl", "/usr/local/bin/openssl"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  @Test(.enabled(if: openssl != nil, "needs openssl to create a certificate: apt-get install openssl"))
  func aHangupReadsTheCertificateAgainAndKeepsItIfTheNewOneIsBad() throws {
    let folder = try TemporaryFolder()
    let (certificate, key) = (folder.path + "/cert.pem", folder.path + "/key.pem")
    let created = try Program(path: #require(Self.openssl)).run(
      "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost", "-keyout",
      key,
      "-out", certificate)
    try #require(created.status == 0, "\(created.complaint)")
    let good = try Data(contentsOf: URL(fileURLWithPath: certificate))
    let server = try ServerProcess(
      folder.path + "/data", "--emulator", "--port", "0", "--tls", certificate, key)
    #expect(server.lines[0] == "Serving https://127.0.0.1:\(server.port)")
    try Data("no certificate".utf8).write(to: URL(fileURLWithPath: certificate))
    server.send(SIGHUP)
    #expect(server.complaint(until: "The earlier certificate stays: "))
    try good.write(to: URL(fileURLWithPath: certificate))
    server.send(SIGHUP)
    #expect(server.complaint(until: "The certificate was read again"))
    server.send(SIGTERM)
    #expect(server.end().status == 0)
    let bad = try dugout.run(
      "serve", folder.path + "/data", "--emulator", "--port", "0", "--tls", key, certificate)
    #expect(bad.status == 74 && bad.complaint.contains("key.pem"), "\(bad)")
  }
  #endif

  // MARK: Imports and exports

  @Test func oneFolderIsImportedAndExported() throws {
    let folder = try TemporaryFolder()
    let seed = folder.path + "/seed"
    func serve(_ data: String) throws -> ServerProcess.End {
      let server = try ServerProcess(
        folder.path + "/" + data, "--emulator", "--port", "0", "--project", "my-shop", "--import", seed,
        "--export-on-exit", seed)
      let document = "/v1/projects/my-shop/databases/(default)/documents/users?documentId=\(data)"
      #expect(try server.post(document, "{}", port: server.port).hasPrefix("HTTP/1.1 200 "))
      server.send(SIGTERM)
      return server.end()
    }
    let first = try serve("one")
    #expect(first.status == 0 && first.complaint.contains("seed has no export yet"), "\(first)")
    #expect(
      first.complaint.contains("Exported 1 document of projects/my-shop/databases/(default)"), "\(first)")
    let second = try serve("two")
    #expect(second.status == 0 && second.complaint.contains("Imported 1 document into"), "\(second)")
    let imported = try dugout.run("import", folder.path + "/three", seed)
    #expect(imported.output == "2 documents imported.\n", "\(imported)")
    let full = try dugout.run(
      "serve", folder.path + "/two", "--emulator", "--port", "0", "--project", "my-shop", "--import", seed)
    #expect(full.status == 1 && full.complaint.contains("has 2 documents already"), "\(full)")
  }

  @Test func anExportGoesToItsOwnProjectUnlessAnotherIsNamed() throws {
    let folder = try TemporaryFolder()
    for (data, options, project) in [
      ("own", [], "kept"), ("other", ["--project", "my-shop"], "my-shop"),
      ("created", ["--create", "projects/my-shop/databases/second"], "my-shop"),
    ] as [(String, [String], String)] {
      let server = try ServerProcess(
        [folder.path + "/" + data, "--emulator", "--port", "0", "--import", Self.export] + options)
      server.send(SIGTERM)
      #expect(server.end().status == 0)
      #expect(files(folder.path + "/" + data) == [project])
    }
    #expect(files(folder.path + "/created/my-shop") == ["second"])
  }

  @Test func anExportIntoTheDirectoryOfTheServerIsRefused() throws {
    let folder = try TemporaryFolder()
    let data = folder.path + "/data"
    let outcome = try dugout.run(
      "serve", data, "--emulator", "--port", "0", "--project", "my-shop", "--export-on-exit", data + "/export"
    )
    #expect(outcome.status == 2 && outcome.complaint.contains("lies in it"), "\(outcome)")
  }
}
#else
@Suite struct ServeProcessTests {
  @Test func aProgramWithoutTheTraitSaysHowToBuildIt() throws {
    let folder = try TemporaryFolder()
    let data = folder.path + "/data"
    let outcome = try Program("dugout").run("serve", data, "--emulator")
    #expect(outcome.status == 2 && outcome.complaint.contains("without the trait Server"))
    #expect(outcome.complaint.contains("swift build -c release --traits Server,TLS --product dugout"))
    #expect(!FileManager.default.fileExists(atPath: data))
  }
}
#endif
