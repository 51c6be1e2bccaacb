// A web page that a developer visits cannot reach the server: neither by its own origin, nor by a name that
// it resolves to the address of the server.

import DocumentStore
import FirestoreWire
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct BrowserGuardTests {
  private static let target = "/v1/\(TestServer.documents)/rooms/none"

  private func status(
    _ server: TestServer, host: String? = nil, origins: [String] = [], fields: [(String, String)] = []
  ) -> Int {
    server.get(Self.target) { request in
      if let host { request.authority = host }
      request.fields = origins.map { ("origin", $0) } + fields
    }.status
  }

  // MARK: Hosts

  @Test(arguments: [
    "localhost", "localhost:8080", "LOCALHOST:1", "Localhost:65535", "app.localhost:3000", "127.0.0.1",
    "127.0.0.1:8080", "127.8.9.10:80", "[::1]", "[::1]:8080", "[0:0:0:0:0:0:0:1]:8080",
    "[::ffff:127.0.0.1]:1",
  ])
  func namesOfThisMachineAreAccepted(host: String) throws {
    #expect(status(try TestServer(), host: host) == 404)
  }

  @Test(arguments: [
    "", "evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "evil.com:8080", "localhost@evil.com",
    "evil.com@localhost", "localhost:8080@evil.com", "localhost.", "localhost:", "localhost:port",
    "localhost:65536", "localhost:123456", "localhost:80:80", " localhost", "localhost ", "localhost\t",
    "localhost,evil.com", "localhost/evil", "localhost#", "localhost?", "localhost%00",
    "localhost\u{0}.evil.com",
    ".localhost", "a..localhost", "evillocalhost", "xlocalhost", "10.0.0.1", "192.168.0.1:8080",
    "0.0.0.0:8080",
    "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1", "::1", "[::1]x", "[::1]:", "[::2]", "[]",
    "[evil.com]",
    "[127.0.0.1]", "[::ffff:10.0.0.1]", "ｌocalhost", "localhoſt", "*", "null", "[fe80::1%25eth0]",
  ])
  func otherHostsAreRefused(host: String) throws {
    let server = try TestServer()
    #expect(status(server, host: host) == 403, "\(host)")
    #expect(server.journal.metrics.count(of: .host) == 1)
  }

  @Test func aSecondHostIsCheckedToo() throws {
    let server = try TestServer()
    #expect(status(server, fields: [("host", "localhost:8080")]) == 404)
    #expect(status(server, fields: [("host", "evil.com")]) == 403)
    #expect(status(server, fields: [("host", "localhost"), ("host", "evil.com")]) == 403)
    #expect(status(server, host: "evil.com", fields: [("host", "localhost")]) == 403)
  }

  @Test func forwardedHostsChangeNothing() throws {
    let server = try TestServer()
    #expect(status(server, host: "evil.com", fields: [("x-forwarded-host", "localhost")]) == 403)
    #expect(status(server, host: "evil.com", fields: [("forwarded", "host=localhost")]) == 403)
  }

  @Test func theAddressAndAllowedNamesAreAccepted() throws {
    let server = try TestServer { configuration in
      configuration.address = "192.168.1.2"
      configuration.allowsAnyAddress = true
      configuration.allowedHosts = ["Db.Example", "2001:db8::1"]
    }
    for host in ["192.168.1.2:8080", "db.example", "DB.EXAMPLE:443", "[2001:db8::1]:1", "localhost"] {
      #expect(status(server, host: host) == 404, "\(host)")
    }
    for host in ["192.168.1.3", "a.db.example", "db.example.evil.com", "example"] {
      #expect(status(server, host: host) == 403, "\(host)")
    }
  }

  @Test func aServerOnAllAddressesIsKnownByEveryAddressButByNoName() throws {
    let server = try TestServer { configuration in
      configuration.address = "0.0.0.0"
      configuration.allowsAnyAddress = true
    }
    #expect(status(server, host: "192.168.1.9:8080") == 404)
    #expect(status(server, host: "[2001:db8::7]") == 404)
    #expect(status(server, host: "rebound.evil.com") == 403)
  }

  @Test func behindAProxyOnlyAllowedNamesAreAccepted() throws {
    let server = try TestServer { configuration in
      configuration.isBehindProxy = true
      configuration.allowedHosts = ["db.example"]
    }
    #expect(status(server, host: "db.example") == 404)
    for host in ["localhost", "127.0.0.1:8080", "evil.com", ""] {
      #expect(status(server, host: host) == 403, "\(host)")
    }
    let answer = server.get(Self.target) { $0.authority = "evil.com" }
    #expect(answer.text.contains("--allow-host"))
  }

  // MARK: Origins

  @Test(arguments: [
    "http://localhost", "http://localhost:3000", "https://localhost:3000", "http://127.0.0.1:5173",
    "http://[::1]:3000", "http://app.localhost:3000", "HTTP://LOCALHOST:3000",
  ])
  func originsOfThisMachineAreEchoed(origin: String) throws {
    let server = try TestServer()
    let answer = server.get(Self.target) { $0.fields = [("origin", origin)] }
    #expect(answer.status == 404)
    #expect(answer.fields["access-control-allow-origin"] == origin)
    #expect(answer.fields["access-control-allow-credentials"] == "true")
    #expect(answer.fields["access-control-expose-headers"]?.contains("x-http-session-id") == true)
    #expect(answer.fields["vary"] == "Origin")
  }

  @Test(arguments: [
    "http://evil.com", "https://evil.com:8080", "null", "", "*", "http://localhost.evil.com",
    "http://127.0.0.1.evil.com", "http://localhost@evil.com", "http://evil.com/localhost", "localhost",
    "http:localhost", "//localhost", "http://localhost/", "http://localhost, http://evil.com",
    "http://localhost http://evil.com", "file://", "file://localhost", "chrome-extension://localhost",
    "javascript://localhost", "http://10.0.0.1", "http://", "://localhost", "1http://localhost",
  ])
  func otherOriginsAreRefused(origin: String) throws {
    let server = try TestServer()
    let answer = server.get(Self.target) { $0.fields = [("origin", origin)] }
    #expect(answer.status == 403, "\(origin)")
    #expect(answer.fields["access-control-allow-origin"] == nil)
    #expect(server.journal.metrics.count(of: .origin) == 1)
  }

  @Test func severalOriginsAreRefused() throws {
    let server = try TestServer()
    #expect(status(server, origins: ["http://localhost", "http://evil.com"]) == 403)
    #expect(status(server, origins: ["http://localhost", "http://localhost"]) == 403)
  }

  @Test func allowedOriginsAreExact() throws {
    let server = try TestServer { $0.allowedOrigins = ["https://app.example", "capacitor://localhost"] }
    for origin in [
      "https://app.example", "https://APP.example", "https://app.example:443", "capacitor://localhost",
    ] {
      #expect(status(server, origins: [origin]) == 404, "\(origin)")
    }
    for origin in [
      "http://app.example", "https://app.example:8443", "https://a.app.example",
      "https://app.example.evil.com",
      "https://evil.com?https://app.example",
    ] {
      #expect(status(server, origins: [origin]) == 403, "\(origin)")
    }
  }

  // MARK: Every kind of request

  /// Nothing is executed before the check, whatever the mode and the kind of request.
  @Test func everyRequestIsCheckedBeforeItIsExecuted() throws {
    for isEmulator in [true, false] {
      let server = isEmulator ? try TestServer { $0.adminSecret = TestServer.secret } : try .secured()
      _ = try server.call("Commit", TestServer.commit("rooms/a", 1)) { $0.authorize() }
      func isRefused(_ request: TestRequest, _ comment: Comment) {
        var rebound = request
        rebound.authority = "rebound.evil.com"
        #expect(server.send(rebound).status == 403, comment)
        var foreign = request
        foreign.fields.append(("origin", "http://evil.com"))
        #expect(server.send(foreign).status == 403, comment)
      }
      var commit = TestRequest.call("Commit")
      commit.body = TestRequest.framed(try TestServer.commit("rooms/a", 2).protobuf())
      commit.authorize()
      isRefused(commit, "gRPC")
      isRefused(TestRequest.call("Listen"), "stream")
      isRefused(TestRequest("DELETE", "/v1/\(TestServer.documents)/rooms/a"), "REST")
      isRefused(TestRequest("DELETE", "/emulator/v1/\(TestServer.documents)"), "emulator")
      isRefused(TestRequest("GET", "/"), "root")
      isRefused(TestRequest("OPTIONS", "/v1/\(TestServer.documents)/rooms/a"), "preflight")
      for path in ["/metrics", "/healthz", "/readyz", "/nothing"] {
        var admin = TestRequest("GET", path)
        admin.listener = FirestoreHandler.adminListener
        isRefused(admin, "admin")
      }
      let read = try server.call("GetDocument", TestServer.get("rooms/a")) { $0.authorize() }
      #expect(read.code == 0)
      #expect(try store(server, "rooms/a") == .integer(1))
    }
  }

  private func store(_ server: TestServer, _ path: String) throws -> StoredValue? {
    try server.store.document(at: DocumentPath(path.split(separator: "/").map(String.init)))?.fields["n"]
  }

  @Test func preflightsAreAnswered() throws {
    let server = try TestServer.secured { $0.allowedOrigins = ["https://app.example"] }
    var request = TestRequest("OPTIONS", Self.target)
    request.fields = [
      ("origin", "https://app.example"), ("access-control-request-method", "PATCH"),
      ("access-control-request-headers", "authorization,x-goog-api-client"),
      ("access-control-request-private-network", "true"),
    ]
    let answer = server.send(request)
    #expect(answer.status == 204)
    #expect(answer.body.isEmpty)
    #expect(answer.fields["access-control-allow-origin"] == "https://app.example")
    #expect(answer.fields["access-control-allow-methods"]?.contains("PATCH") == true)
    #expect(answer.fields["access-control-allow-headers"] == "authorization,x-goog-api-client")
    #expect(answer.fields["access-control-allow-private-network"] == "true")
    #expect(answer.fields["access-control-max-age"] != nil)
    #expect(answer.fields["vary"] == "Origin")
    request.fields[2].value = "evil: 1\u{0}"
    #expect(server.send(request).fields["access-control-allow-headers"] == nil)
    let plain = server.send(TestRequest("OPTIONS", "*"))
    #expect(plain.status == 204)
    #expect(plain.fields["allow"]?.contains("GET") == true)
    #expect(plain.fields["access-control-allow-origin"] == nil)
  }
}
