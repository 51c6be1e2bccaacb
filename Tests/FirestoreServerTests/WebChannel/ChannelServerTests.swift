// WebChannel over real sockets: the requests of a session come by several connections.

import ByteStore
import DocumentStore
import Foundation
import Testing

@testable import FirestoreServer

#if Server
@Suite struct ChannelServerTests {
  /// A session whose requests have a connection each.
  private struct Session {
    let method: String
    let port: Int
    let sid: String

    init(_ method: String, _ requests: [String], to port: Int) throws {
      self.method = method
      self.port = port
      let target = "\(ChannelClient.path(method))?VER=8&CVER=22&RID=1"
      let answer = try RawClient.send("POST", target, ChannelClient.form(requests), to: port)
      let parts = answer.split(separator: "\"")
      sid = String(try #require(parts.count > 3 ? parts[3] : nil))
      #expect(sid.utf8.count == 32, "\(answer)")
    }

    private func target(_ parameters: String) -> String {
      "\(ChannelClient.path(method))?VER=8&SID=\(sid)&\(parameters)"
    }

    func forward(_ requests: [String], offset: Int) throws -> String {
      let form = ChannelClient.form(requests, offset: offset)
      return try RawClient.send("POST", target("RID=2&AID=0"), form, to: port)
    }

    func poll(_ acknowledged: Int) throws -> String {
      try RawClient.send("GET", target("RID=rpc&AID=\(acknowledged)&CI=1&TYPE=xmlhttp"), to: port)
    }

    func stream(_ acknowledged: Int, on connection: RawStream? = nil) throws -> RawStream {
      let stream = try connection ?? RawStream(to: port)
      let target = target("RID=rpc&AID=\(acknowledged)&CI=0&TYPE=xmlhttp")
      try stream.send(Array("GET \(target) HTTP/1.1\r\nhost: localhost:\(port)\r\n\r\n".utf8))
      return stream
    }

    func terminate() throws -> String {
      try RawClient.send("GET", target("RID=3&TYPE=terminate"), to: port)
    }
  }

  private var configuration: ServerConfiguration {
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    configuration.port = 0
    configuration.drainSeconds = 5
    return configuration
  }

  /// The numbers of all arrays in an answer.
  private static func numbers(_ text: String) -> [Int] {
    text.matches(of: /[\[,]\[([0-9]+),\[["\{]/).compactMap { Int($0.1) }
  }

  @Test func aPageWritesAndListens() async throws {
    let store = try DocumentStore.openInMemory()
    let server = try FirestoreServer(
      store: store, database: TestServer.database, configuration: configuration)
    let stream = Locked<RawStream?>(nil)
    try await server.whileRunning { addresses throws in
      let port = addresses.port
      let listen = try Session("Listen", [ChannelClient.watchAll("rooms")], to: port)
      let first = try listen.stream(0)
      try first.read(until: "CURRENT")
      let write = try Session("Write", [ChannelClient.openWrite], to: port)
      for number in 0..<50 {
        let update = ChannelClient.update("rooms/\(number)", text: "é😀 \(number)")
        #expect(try write.forward([update], offset: number + 1).hasPrefix("HTTP/1.1 200"))
        // The answer was lost, or so the client believes.
        if number % 5 == 0 { _ = try write.forward([update], offset: number + 1) }
      }
      try first.read(until: "é😀 49")
      let numbers = Self.numbers(first.text)
      #expect(numbers == Array(1...max(1, numbers.count)))
      // Another connection continues, and the first one ends.
      let second = try listen.stream(numbers.count - 3)
      try second.read(until: "[[\(numbers.count - 2),[")
      try first.read(until: "\r\n0\r\n\r\n")
      #expect(try write.poll(0).contains("commitTime"))
      #expect(try write.terminate().hasPrefix("HTTP/1.1 200"))
      #expect(try write.poll(0).hasPrefix("HTTP/1.1 400"))
      stream.withLock { $0 = second }
    }
    // The end of the server ends the session.
    let last = try #require(stream.withLock { $0 })
    while try last.read() {}
    #expect(last.text.contains("UNAVAILABLE"))
    #expect(store.count == 50)
  }

  @Test func aClientFetchesItsResultsDuringAShutdown() async throws {
    let store = try DocumentStore.openInMemory()
    var configuration = configuration
    // The client comes in time, and the server does not wait any longer.
    configuration.drainSeconds = 600
    let server = try FirestoreServer(
      store: store, database: TestServer.database, configuration: configuration)
    try await server.whileRunning { addresses throws in
      let port = addresses.port
      let write = try Session("Write", [ChannelClient.openWrite], to: port)
      let update = ChannelClient.update("rooms/a", text: "1")
      #expect(try write.forward([update], offset: 1).hasPrefix("HTTP/1.1 200"))
      let kept = try RawStream(to: port)
      server.shutDown()
      let document = "/v1/\(TestServer.documents)/rooms/a"
      while try !RawClient.send("GET", document, to: port).hasPrefix("HTTP/1.1 503") {}
      let (others, later) = (ChannelClient.path("Write"), ChannelClient.update("rooms/b", text: "2"))
      let form = ChannelClient.form([ChannelClient.openWrite])
      #expect(try RawClient.send("POST", "\(others)?VER=8&RID=1", form, to: port).hasPrefix("HTTP/1.1 503"))
      #expect(try write.forward([later], offset: 2).hasPrefix("HTTP/1.1 200"))
      // New connections are accepted, and those from before are open.
      let results = try write.stream(0, on: kept)
      try results.read(until: #""status":"UNAVAILABLE"}}]]]"#)
      #expect(results.text.contains("commitTime"))
      #expect(try write.poll(1).contains("commitTime"))
      let last = try #require(Self.numbers(results.text).last)
      #expect(try write.poll(last).hasPrefix("HTTP/1.1 400"))
      // With the last results, the server ends.
      while try kept.read() {}
    }
    #expect(store.count == 1)
  }

  @Test func aShutdownDoesNotWaitLongerThanItsTime() async throws {
    let store = try DocumentStore.openInMemory()
    let lines = LogLines()
    var configuration = configuration
    configuration.drainSeconds = 0
    configuration.log = ServerLog(format: .text, write: lines.append)
    let server = try FirestoreServer(
      store: store, database: TestServer.database, configuration: configuration)
    try await server.whileRunning { addresses throws in
      let write = try Session("Write", [ChannelClient.openWrite], to: addresses.port)
      let update = ChannelClient.update("rooms/a", text: "1")
      #expect(try write.forward([update], offset: 1).hasPrefix("HTTP/1.1 200"))
      while store.count == 0 { _ = try write.poll(0) }
    }
    #expect(lines.all.contains { $0.contains("undelivered") && $0.contains("1") })
  }
}
#endif
