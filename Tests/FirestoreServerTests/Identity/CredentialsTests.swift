// A server is called by the admin alone, and an emulator by everybody.

import FirestoreWire
import OfflineSync
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct CredentialsTests {
  private func caller(_ isEmulator: Bool, _ values: [String]) throws(RemoteError) -> Caller {
    var configuration = ServerConfiguration()
    configuration.isEmulator = isEmulator
    configuration.adminSecret = TestServer.secret
    var fields = HTTPFields()
    for value in values { fields.append("authorization", value) }
    return try Credentials(configuration).caller(of: fields)
  }

  private func caller(_ isEmulator: Bool, _ values: String...) throws -> Caller {
    try caller(isEmulator, values)
  }

  private func error(_ isEmulator: Bool, _ values: String...) -> RemoteError? {
    do throws(RemoteError) {
      _ = try caller(isEmulator, values)
      return nil
    } catch {
      return error
    }
  }

  // MARK: The secret

  @Test func theSecretIsAccepted() throws {
    #expect(try caller(false, "Bearer \(TestServer.secret)") == .admin)
    #expect(try caller(false, "bearer  \(TestServer.secret)") == .admin)
    #expect(try caller(true, "Bearer \(TestServer.secret)") == .admin)
  }

  @Test func everythingElseIsRefused() {
    let secret = TestServer.secret
    for value in [
      "", "Bearer", "Bearer ", secret, "Bearer\(secret)", "Basic \(secret)", "Bearer \(secret) ",
      "Bearer \(secret)x", "Bearer \(secret.dropLast())", "Bearer \(secret.uppercased())", "Bearer owner",
      "Bearer \(secret)\(secret)", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.", "Bearer \t\(secret)",
    ] {
      #expect(error(false, value)?.code == .unauthenticated, "\(value)")
    }
    #expect(error(false)?.code == .unauthenticated)
    #expect(error(false, "Bearer \(secret)", "Bearer \(secret)")?.code == .unauthenticated)
    #expect(error(false, "Bearer \(secret)", "Bearer other")?.code == .unauthenticated)
  }

  @Test func comparesWholeSecrets() {
    let secret = AdminSecret("0123456789abcdef")
    #expect(secret.isEqual(to: Array("0123456789abcdef".utf8)))
    // A repeated secret is as wrong as a beginning of it.
    for text in ["", "0", "0123456789abcde", "0123456789abcdef0123456789abcdef", "0123456789abcdeg"] {
      #expect(!secret.isEqual(to: Array(text.utf8)), "\(text)")
    }
    for place in 0..<16 {
      var bytes = Array("0123456789abcdef".utf8)
      bytes[place] ^= 1
      #expect(!secret.isEqual(to: bytes), "\(place)")
    }
  }

  @Test func aRefusalHasAChallenge() throws {
    let server = try TestServer.secured()
    let target = "/v1/\(TestServer.documents)/rooms/a"
    let missing = server.get(target)
    #expect(missing.status == 401)
    #expect(missing.fields["www-authenticate"] == #"Bearer realm="dugout""#)
    #expect(missing.text.contains("UNAUTHENTICATED"))
    let wrong = server.get(target) { $0.authorize("wrong-wrong-wrong-wrong") }
    #expect(wrong.status == 401)
    #expect(wrong.fields["www-authenticate"]?.contains("invalid_token") == true)
    #expect(server.get(target) { $0.authorize() }.status == 404)
    #expect(try server.call("GetDocument", TestServer.get("rooms/a")).code == 16)
    #expect(server.call("Nothing", []).code == 16)
    #expect(server.journal.metrics.count(of: .credentials) == 4)
    #expect(!server.lines.all.contains { $0.contains("wrong-wrong") || $0.contains(TestServer.secret) })
  }

  // MARK: Emulators

  @Test func anEmulatorServesEverybody() throws {
    #expect(try caller(true) == .anonymous)
    #expect(try caller(true, "Bearer owner") == .admin)
    // {"alg":"none"} {"sub":"a"}
    #expect(try caller(true, "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.") == .user("a"))
  }

  @Test func tokensOfAnEmulatorNameUsersAndProveNothing() {
    func user(_ claims: String, header: String = #"{"alg":"none"}"#, signature: String = "") -> String?? {
      let token = [header, claims].map { String(decoding: Base64.encode(Array($0.utf8)), as: UTF8.self) }
      return EmulatorToken(Array("\(token[0]).\(token[1]).\(signature)".utf8)).map(\.user)
    }
    #expect(user(#"{"sub":"a"}"#) == "a")
    #expect(user(#"{"user_id":"b"}"#) == "b")
    #expect(user(#"{"user_id":"b","sub":"a","exp":1}"#) == "a")
    #expect(user(#"{"sub":"a"}"#, header: #"{"alg":"RS256"}"#, signature: "abc") == "a")
    #expect(user(#"{"sub":"é"}"#) == "é")
    #expect(user("{}") == .some(nil))
    for claims in [
      "", "[]", "1", #"{"sub":1}"#, #"{"sub":null}"#, #"{"sub":"a""#, "\u{FF}", #"{"sub":"a"}x"#,
    ] {
      #expect(user(claims) == nil, "\(claims)")
    }
    #expect(user(#"{"sub":"a"}"#, header: "alg") == nil)
  }

  @Test(arguments: [
    "garbage", "a.b", "..", "a..", ".b.", "...", "....", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0",
    "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0..", "e30.e30*.", "\u{FF}\u{FE}", "Owner", "owner ", "null", "{}.{}.",
  ])
  func otherTextsAreNoTokens(token: String) throws {
    let server = try TestServer()
    let rest = server.get("/v1/\(TestServer.documents)/rooms/a") { $0.authorize(token) }
    #expect(rest.status == 400)
    #expect(rest.text.contains(#""message":"invalid jwt""#))
    let call = try server.call("GetDocument", TestServer.get("rooms/a")) { $0.authorize(token) }
    #expect(call.code == 3)
    #expect(call.message == "invalid jwt")
  }

  @Test func hugeTokensAreRefused() throws {
    let server = try TestServer()
    let claims = #"{"sub":"\#(String(repeating: "a", count: 8192))"}"#
    let token = "e30." + String(decoding: Base64.encode(Array(claims.utf8)), as: UTF8.self) + "."
    #expect(server.get("/v1/\(TestServer.documents)/rooms/a") { $0.authorize(token) }.status == 400)
    let deep =
      "e30."
      + String(decoding: Base64.encode(Array(repeating: UInt8(ascii: "["), count: 6000)), as: UTF8.self) + "."
    #expect(server.get("/v1/\(TestServer.documents)/rooms/a") { $0.authorize(deep) }.status == 400)
  }
}
