// Requests of the REST API.

import DocumentStore
import FirestoreWire
import OfflineSync
import Testing

@testable import Authority
@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct RESTRequestTests {
  @Test func createsAndReads() throws {
    let server = try TestServer()
    var request = TestRequest(
      "POST", "/v1/\(TestServer.documents)/rooms?documentId=a",
      body: #"{"fields":{"n":{"integerValue":"7"}}}"#)
    request.fields = [("content-type", "text/plain")]
    let created = server.send(request)
    #expect(created.status == 200)
    #expect(created.text.contains(#""integerValue":"7""#))
    let read = server.get("/v1/\(TestServer.documents)/rooms/a")
    #expect(read.status == 200)
    #expect(read.fields["content-type"] == "application/json; charset=utf-8")
    #expect(read.fields["x-request-id"] != nil)
    #expect(read.text.contains("rooms/a"))
  }

  /// The identity of a batch whose run the server has registered.
  static func identity(_ server: TestServer) throws -> String {
    let run = RunRegistration(queue: "queue", run: RunID(7))
    var write = RemoteWrite(
      id: WriteID(queue: run.queue, run: run.run, batch: BatchID(1)), mutations: [], firstOpen: BatchID(1))
    write.registration = try Authority.of(server.store).ledger.register(run, as: nil)
    return try WriteLabels.text(Wire.WriteIdentity(write))
  }

  @Test func aHeaderFieldIdentifiesACommit() throws {
    let server = try TestServer()
    let write = "{\"update\":{\"name\":\"\(TestServer.documents)/rooms/a\",\"fields\":{}}}"
    var request = TestRequest(
      "POST", "/v1/\(TestServer.documents):commit", body: "{\"writes\":[\(write)]}")
    let identity = try Self.identity(server)
    request.fields = [("content-type", "text/plain"), ("dugout-write-id", identity)]
    let (first, second) = (server.send(request), server.send(request))
    #expect(first.status == 200)
    #expect(first.text.contains(#""dugoutIdentified":true"#))
    #expect(first.body == second.body)
    // Several fields are no identity.
    request.fields.append(("dugout-write-id", identity))
    let refused = server.send(request)
    #expect(refused.status == 400 && refused.text.contains("INVALID_ARGUMENT"))
    // Other requests ignore the field.
    var read = TestRequest("GET", "/v1/\(TestServer.documents)/rooms/a")
    read.fields = [("dugout-write-id", "%")]
    #expect(server.send(read).status == 200)
  }

  @Test func errorsHaveGooglesForm() throws {
    let server = try TestServer()
    let missing = server.get("/v1/\(TestServer.documents)/rooms/none")
    #expect(missing.status == 404)
    #expect(missing.text.contains(#""status":"NOT_FOUND""#))
    for target in ["/nothing", "/v1/", "/v2/projects", "/v1beta1/\(TestServer.documents)/a/b"] {
      let answer = server.get(target)
      #expect(answer.status == 404, "\(target)")
      #expect(answer.text.contains(#""code":404"#), "\(target)")
    }
  }

  @Test(arguments: [true, false])
  func aBodyThatIsTooLargeIsRefused(isAnnounced: Bool) throws {
    var limits = HTTPLimits()
    limits.messageBytesMax = 1000
    let server = try TestServer(limits: limits)
    var request = TestRequest("POST", "/v1/\(TestServer.documents)/rooms")
    request.fields = [("origin", "http://localhost:3000")]
    if isAnnounced { request.fields.append(("content-length", "1001")) }
    let exchange = server.begin(request)
    if !isAnnounced { for _ in 0..<11 { exchange.send([UInt8](repeating: 0x20, count: 91)) } }
    let answer = exchange.answer()
    #expect(answer.status == 413)
    #expect(answer.text.contains(#""code":413"#) && answer.text.contains("RESOURCE_EXHAUSTED"))
    #expect(answer.fields["access-control-allow-origin"] == "http://localhost:3000")
    #expect(server.journal.metrics.openRequests.value == 0)
    // A body of the maximum size is read.
    let full = server.begin(request)
    full.send([UInt8](repeating: 0x20, count: 1000))
    full.finish()
    #expect(full.answer().status == (isAnnounced ? 413 : 200))
  }

  @Test func aPageMaySeeTheRefusalsOfTheTransport() throws {
    let server = try TestServer()
    var request = TestRequest("POST", "/v1/\(TestServer.documents)/rooms")
    request.fields = [("origin", "http://localhost:3000")]
    let fields = server.handler.refusalFields(request.http)
    #expect(fields["access-control-allow-origin"] == "http://localhost:3000")
    #expect(fields["x-request-id"] != nil && fields["vary"] == "Origin")
    request.fields = [("origin", "https://evil.com")]
    #expect(server.handler.refusalFields(request.http)["access-control-allow-origin"] == nil)
    request.fields = [("origin", "http://localhost:3000")]
    request.authority = "evil.com"
    #expect(server.handler.refusalFields(request.http)["access-control-allow-origin"] == nil)
    // They are counted as what the transport says.
    #expect(server.journal.metrics.count(of: ServerRefusal.origin) == 0)
  }
}
