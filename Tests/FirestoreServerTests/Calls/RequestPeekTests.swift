// The log names the database of a request that was not decoded.

import FirestoreWire
import Testing

@testable import FirestoreServer

@Suite struct RequestPeekTests {
  @Test func databasesAreReadFromTheFirstField() throws {
    let commit = try TestServer.commit("rooms/a", 1).protobuf()
    #expect(RequestPeek.database(in: commit)?.text == TestServer.database)
    let read = try TestServer.get("rooms/a").protobuf()
    #expect(RequestPeek.database(in: read)?.text == TestServer.database)
    // The first field of this request is a message.
    var update = Wire.UpdateDocumentRequest()
    update.document = Wire.Document()
    update.document?.name = "\(TestServer.documents)/rooms/a"
    #expect(RequestPeek.database(in: try update.protobuf()) == nil)
  }

  @Test func malformedRequestsNameNone() throws {
    let request = try TestServer.get("rooms/a").protobuf()
    for count in 0..<request.count { #expect(RequestPeek.database(in: Array(request.prefix(count))) == nil) }
    for byte in UInt8.min...UInt8.max { #expect(RequestPeek.database(in: [byte]) == nil) }
    #expect(RequestPeek.database(in: [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]) == nil)
  }

  @Test func databasesAreReadFromNames() {
    #expect(RequestPeek.database("projects/p/databases/d/documents/a/b")?.text == "projects/p/databases/d")
    #expect(RequestPeek.database("projects/p/databases/d")?.text == "projects/p/databases/d")
    for name in [
      "", "projects/p", "projects/p/databases", "project/p/databases/d", "/projects/p/databases/d",
    ] {
      #expect(RequestPeek.database(name) == nil, "\(name)")
    }
  }
}
