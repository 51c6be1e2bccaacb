// Calls of gRPC reach the service, and its answers and errors reach the client.

import FirestoreService
import FirestoreWire
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct GRPCCallTests {
  @Test func writesAndReads() throws {
    let server = try TestServer()
    let committed = try server.call("Commit", TestServer.commit("rooms/a", 7))
    #expect(committed.code == 0)
    #expect(try Wire.CommitResponse(protobuf: committed.messages[0]).writeResults.count == 1)
    let read = try server.call("GetDocument", TestServer.get("rooms/a"))
    #expect(read.status == 200)
    #expect(read.fields["content-type"] == "application/grpc")
    #expect(read.code == 0)
    #expect(try Wire.Document(protobuf: read.messages[0]).name == "\(TestServer.documents)/rooms/a")
  }

  @Test func metadataIdentifiesACommit() throws {
    let server = try TestServer()
    let identity = try RESTRequestTests.identity(server)
    let answers = try (0..<2).map { _ in
      try server.call("Commit", TestServer.commit("rooms/a", 7)) { request in
        request.fields.append(("dugout-write-id", identity))
      }
    }
    #expect(answers.map(\.code) == [0, 0])
    #expect(answers[0].messages == answers[1].messages)
    #expect(try Wire.IdentifiedCommitResponse(protobuf: answers[0].messages[0]).isIdentified)
    let refused = try server.call("Commit", TestServer.commit("rooms/a", 7)) { request in
      request.fields.append(("dugout-write-id", "%"))
    }
    #expect(refused.code == 3)
  }

  @Test func errorsKeepTheirCodes() throws {
    let server = try TestServer()
    let answer = try server.call("GetDocument", TestServer.get("rooms/none"))
    #expect(answer.code == 5)
    #expect(answer.message == "Document (\(TestServer.documents)/rooms/none) not found.")
    #expect(server.call("GetDocument", [0xFF]).code == 3)
  }

  @Test func unknownMethodsAndServicesAreUnimplemented() throws {
    let server = try TestServer()
    for method in [
      "Nothing", "/google.firestore.v1.Nothing/Commit", "/", "/Commit", "//", "Commit/", "commit",
    ] {
      #expect(server.call(method, []).code == 12, "\(method)")
    }
  }

  /// Many clients share a connection of a proxy.
  @Test func aConnectionOfAProxyIsNoConnectionOfAClient() throws {
    for isProxy in [false, true] {
      var connection = TestRequest("GET", "/").http.connection
      connection.isProxy = isProxy
      let metadata = try TestServer().handler.runner.metadata(.anonymous, connection)
      #expect(metadata.connection == (isProxy ? nil : connection.number))
    }
  }

  @Test func aCallWithoutARequestIsInvalid() throws {
    #expect(try TestServer().call("Commit").code == 3)
  }
}
