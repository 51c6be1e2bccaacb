// The paths that only an emulator has.

import ByteStore
import FirestoreWire
import OfflineSync
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct EmulatorRequestTests {
  private static let all = "/emulator/v1/\(TestServer.documents)"
  private static let paths = ["rooms/a", "rooms/a/chats/b", "rooms/c", "users/d", "users/d/rooms/e"]

  private func filled() throws -> TestServer {
    let server = try TestServer()
    for path in Self.paths { _ = try server.call("Commit", TestServer.commit(path, 1)) }
    return server
  }

  private func remaining(_ server: TestServer) throws -> [String] {
    try Self.paths.filter { try server.call("GetDocument", TestServer.get($0)).code == 0 }
  }

  private func delete(_ server: TestServer, _ path: String) -> TestAnswer {
    server.send(TestRequest("DELETE", path))
  }

  @Test func theRootSaysOk() throws {
    let answer = try TestServer().get("/")
    #expect(answer.status == 200)
    #expect(answer.text == "Ok\n")
    #expect(try TestServer().get("/?x=1").status == 200)
  }

  @Test func deletesAllDocuments() throws {
    for path in [Self.all, Self.all + "/", Self.all.replacing("(", with: "%28").replacing(")", with: "%29")] {
      let server = try filled()
      #expect(try remaining(server) == Self.paths)
      let answer = delete(server, path)
      #expect(answer.status == 200)
      #expect(answer.text == "{}")
      #expect(try remaining(server) == [])
      // The documents of the authority itself stay, so the server goes on.
      #expect(try server.call("Commit", TestServer.commit("rooms/a", 2)).code == 0)
    }
  }

  @Test func deletesWhatIsBelowAPath() throws {
    for (path, rest) in [
      ("rooms", ["users/d", "users/d/rooms/e"]), ("rooms/a", ["rooms/c", "users/d", "users/d/rooms/e"]),
      ("users/d/rooms", ["rooms/a", "rooms/a/chats/b", "rooms/c", "users/d"]), ("none", Self.paths),
      ("room", Self.paths), ("rooms%2Fa", Self.paths),
    ] {
      let server = try filled()
      #expect(delete(server, "\(Self.all)/\(path)").status == 200)
      #expect(try remaining(server) == rest, "\(path)")
    }
  }

  @Test func listenersHearOfTheDeletion() throws {
    let server = try filled()
    let exchange = server.begin(.call("Listen"))
    var documents = Wire.Target.DocumentsTarget()
    documents.documents = ["\(TestServer.documents)/rooms/a"]
    var target = Wire.Target()
    target.targetType = .documents(documents)
    target.targetId = 1
    var request = Wire.ListenRequest()
    request.database = TestServer.database
    request.targetChange = .addTarget(target)
    exchange.send(message: try request.protobuf())
    let before = exchange.answer(messages: 4).messages.count
    #expect(delete(server, Self.all).status == 200)
    let messages = exchange.answer(messages: before + 2).messages.dropFirst(before)
    let deletions = try messages.map { try Wire.ListenResponse(protobuf: $0) }.filter {
      if case .documentDelete = $0.responseType { true } else { false }
    }
    #expect(deletions.count == 1)
  }

  @Test(arguments: [
    "/emulator", "/emulator/v1", "/emulator/v1/projects/demo-shop",
    "/emulator/v1/projects/demo-shop/databases",
    "/emulator/v1/projects/demo-shop/databases/(default)",
    "/emulator/v1/projects/demo-shop/databases/(default)/document",
    "/emulator/v2/projects/demo-shop/databases/(default)/documents", "//emulator/v1/\(TestServer.documents)",
    "/emulator/v1/\(TestServer.documents):x",
  ])
  func otherPathsAreNotFound(path: String) throws {
    let server = try filled()
    #expect(delete(server, path).status == 404, "\(path)")
    #expect(try remaining(server) == Self.paths)
  }

  @Test(arguments: [
    "..", "%2e%2e", "%2E%2E%2F..", "a%2Fb", "a%00b", "A", "a.b", "", "%", "%zz", "%FF", "_default",
  ])
  func otherNamesAreInvalid(id: String) throws {
    let server = try TestServer(databases: try DatabaseFolder.inMemory())
    for path in ["projects/\(id)/databases/(default)", "projects/demo-shop/databases/\(id)"] {
      #expect(delete(server, "/emulator/v1/\(path)/documents").status == 400, "\(path)")
      #expect(server.get("/v1/\(path)/documents/rooms/a").status == 400, "\(path)")
    }
    #expect(server.handler.runner.databases.openDatabases.isEmpty)
  }

  @Test func emptySegmentsAreInvalid() throws {
    let server = try filled()
    for path in ["rooms/", "rooms//chats", "/rooms"] {
      #expect(delete(server, "\(Self.all)/\(path)").status == 400, "\(path)")
    }
    #expect(try remaining(server) == Self.paths)
  }

  @Test func rulesAreNotAcceptedSilently() throws {
    let server = try TestServer()
    let answer = server.send(
      TestRequest("PUT", "/emulator/v1/projects/demo-shop:securityRules", body: #"{"rules":{"files":[]}}"#))
    #expect(answer.status == 501)
    #expect(answer.text.contains("does not evaluate security rules"))
    #expect(server.get("/emulator/v1/projects/demo-shop:ruleCoverage").status == 501)
    #expect(server.get("/emulator/v1/projects/demo-shop:ruleCoverage.html").status == 501)
  }

  @Test func garbageInsteadOfATokenIsRefused() throws {
    let server = try filled()
    var request = TestRequest("DELETE", Self.all)
    request.authorize("garbage")
    #expect(server.send(request).status == 400)
    #expect(try remaining(server) == Self.paths)
  }

  @Test func otherServersHaveNoneOfThesePaths() throws {
    let server = try TestServer.secured()
    for request in [
      TestRequest("GET", "/"), TestRequest("DELETE", Self.all),
      TestRequest("PUT", "/emulator/v1/projects/p:securityRules"),
    ] {
      var request = request
      request.authorize()
      #expect(server.send(request).status == 404)
    }
  }
}

extension DatabaseFolder {
  /// An emulator's databases in memory.
  static func inMemory() throws -> DatabaseFolder {
    try DatabaseFolder(
      "/data", isEmulator: true, databasesMax: 10,
      platform: Platform(fileSystem: MemoryFileSystem(), clock: SystemClock(), random: SystemRandom())
    ) { _ in }
  }
}
