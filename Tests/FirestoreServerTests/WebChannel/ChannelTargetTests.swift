// Targets of WebChannel, as the clients of JavaScript and Swift send them.

import ByteStore
import OfflineSync
import Testing

@testable import FirestoreServer

@Suite struct ChannelTargetTests {
  private static let path = "/google.firestore.v1.Firestore/Listen/channel"
  private static let sid = "0123456789abcdef0123456789abcdef"
  private static let id = ChannelID(Array(sid.utf8))!

  private func request(_ method: String, _ query: String) throws -> ChannelTarget.Request {
    try ChannelTarget(method, "\(Self.path)?\(query)").request
  }

  @Test func knowsItsPaths() {
    #expect(ChannelTarget.method(of: Self.path) == .listen)
    #expect(ChannelTarget.method(of: "/google.firestore.v1.Firestore/Write/channel?a") == .write)
    for target in ["/google.firestore.v1.Firestore/Commit/channel", "\(Self.path)/", "/Listen/channel", ""] {
      #expect(ChannelTarget.method(of: target) == nil, "\(target)")
    }
  }

  @Test func readsARequestThatOpensASession() throws {
    let query =
      "database=projects%2Fp%2Fdatabases%2F(default)&VER=8&CVER=22&RID=1&X-HTTP-Session-Id=gsessionid"
      + "&%24httpHeaders=A%3Ab&zx=q&t=1"
    var opening = ChannelTarget.Opening()
    opening.wantsHTTPSessionID = true
    opening.knowsKeepAlive = true
    opening.headers = Array("A:b".utf8)
    opening.database = "projects/p/databases/(default)"
    #expect(try request("POST", query) == .open(opening))
    #expect(try request("POST", "VER=8&CVER=21&TYPE=init") == .open(ChannelTarget.Opening()))
    #expect(throws: RemoteError.self) { try request("POST", "VER=7") }
    #expect(throws: RemoteError.self) { try request("POST", "VER=9") }
  }

  @Test func readsRequestsOfASession() throws {
    let sid = "SID=\(Self.sid)"
    #expect(try request("POST", "\(sid)&RID=5&AID=17") == .forward(Self.id, acknowledged: 17))
    #expect(try request("POST", "\(sid)&RID=5") == .forward(Self.id, acknowledged: nil))
    let rpc = "\(sid)&RID=rpc&TYPE=xmlhttp"
    #expect(
      try request("GET", "\(rpc)&AID=0&CI=0") == .backChannel(Self.id, acknowledged: 0, .streaming))
    #expect(
      try request("GET", "\(rpc)&AID=3&CI=1")
        == .backChannel(Self.id, acknowledged: 3, .polling(nanoseconds: nil)))
    #expect(
      try request("GET", "\(rpc)&CI=1&TO=25000")
        == .backChannel(Self.id, acknowledged: nil, .polling(nanoseconds: 25_000_000_000)))
    #expect(
      try request("GET", "\(rpc)&CI=1&TO=9007199254740991")
        == .backChannel(Self.id, acknowledged: nil, .polling(nanoseconds: .max)))
    for method in ["GET", "POST"] {
      #expect(try request(method, "\(sid)&RID=9&TYPE=terminate") == .terminate(Self.id))
    }
  }

  @Test(arguments: [
    ("GET", ""), ("GET", "VER=8"), ("GET", "SID=\(sid)&RID=5"), ("GET", "SID=\(sid)"),
    ("GET", "SID=\(sid)&RID=rpc&TYPE=html"), ("GET", "SID=\(sid)&RID=rpc&CI=2"),
    ("GET", "SID=\(sid)&RID=rpc&AID=-1"), ("GET", "SID=\(sid)&RID=rpc&AID=1&AID=1"),
    ("GET", "SID=\(sid)&RID=rpc&AID=99999999999999999999"), ("GET", "SID=\(sid)&RID=rpc&CI=1&TO=x"),
    ("HEAD", "SID=\(sid)&RID=rpc"), ("PUT", "SID=\(sid)"), ("DELETE", "SID=\(sid)&TYPE=terminate"),
    ("POST", "SID=\(sid)&AID=x"), ("POST", "SID="), ("POST", "SID=null"), ("POST", "SID=\(sid)0"),
    ("POST", "SID=0123456789ABCDEF0123456789ABCDEF"), ("POST", "TYPE=terminate"), ("POST", "TYPE=other"),
    ("POST", "SID=%"), ("POST", "VER=8&VER=8"), ("POST", "VER=eight"), ("POST", "CVER=1e1"),
  ])
  func refusesEverythingElse(_ method: String, _ query: String) {
    #expect { try request(method, query) } throws: { ($0 as? RemoteError)?.code == .invalidArgument }
  }

  @Test func idsAreRandomAndHaveOneForm() {
    let ids = (0..<100).map { _ in ChannelID(SystemRandom()).text }
    #expect(Set(ids).count == 100)
    for id in ids {
      #expect(id.utf8.count == 32)
      #expect(ChannelID(Array(id.utf8))?.text == id)
    }
    #expect(
      ChannelID(Array(String(repeating: "0", count: 32).utf8))?.text == String(repeating: "0", count: 32))
  }
}
