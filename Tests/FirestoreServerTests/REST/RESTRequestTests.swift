// Requests of the REST API.

import FirestoreWire
import Testing

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
}
