// The client of WebChannel accepts right answers of a server, and rejects wrong ones.

import Harness
import Testing

@testable import ServerHarness

#if Server
@Suite struct ScriptedChannelTests {
  private typealias Server = ScriptedChannelServer

  private func client(
    _ server: Server, _ loop: PollLoop, _ change: (inout ChannelClientOptions) -> Void = { _ in }
  ) -> WebChannelClient {
    var options = ChannelClientOptions(method: "Write", database: "projects/p/databases/d")
    options.retryMilliseconds = 1
    options.attemptsMax = 5
    change(&options)
    return WebChannelClient(options, port: server.port, loop: loop)
  }

  /// The end of a session whose first back channel has this body.
  private func end(of body: String) throws -> ChannelClientEnd? {
    let loop = PollLoop()
    let server = try Server(loop) { request in
      if request.parameters["SID"] == nil { return Server.opened }
      return request.parameters["RID"] == "rpc" ? .begun(body) : .whole(200, "")
    }
    let client = client(server, loop)
    client.open([Array("{}".utf8)])
    _ = loop.run(seconds: 5) { client.end != nil }
    return client.end
  }

  @Test func theFirstRequestHasTheFormOfABrowser() throws {
    let loop = PollLoop()
    let server = try Server(loop) { $0.parameters["SID"] == nil ? Server.opened : .none }
    let client = client(server, loop)
    client.open([Array(#"{"a":"é & ="}"#.utf8), Array("{}".utf8)])
    #expect(loop.run(seconds: 5) { server.requests.count == 2 })
    let (open, back) = (server.requests[0], server.requests[1])
    #expect(open.method == "POST")
    #expect(open.parameters["database"] == "projects/p/databases/d")
    #expect(open.parameters["VER"] == "8")
    #expect(open.form["headers"] == "Authorization:Bearer owner\r\n")
    #expect(open.form["count"] == "2")
    #expect(open.form["ofs"] == "0")
    #expect(open.form["req0___data__"] == #"{"a":"é & ="}"#)
    #expect(back.method == "GET")
    #expect(back.parameters["SID"] == "s1")
    #expect(back.parameters["AID"] == "0")
    #expect(back.parameters["CI"] == "0")
  }

  @Test func aRequestWithoutAnAnswerComesAgainWithItsNumber() throws {
    let loop = PollLoop()
    var isLost = true
    let server = try Server(loop) { request in
      if request.parameters["SID"] == nil { return Server.opened }
      guard request.parameters["RID"] != "rpc" else { return .none }
      defer { isLost = false }
      return isLost ? .lost : .whole(200, Server.frame("[1,0,0]"))
    }
    let client = client(server, loop)
    client.open([Array("{}".utf8)])
    client.send(Array(#"{"n":1}"#.utf8))
    client.send(Array(#"{"n":2}"#.utf8))
    let done = loop.run(seconds: 5) { client.session != nil && client.hasSentAll }
    #expect(done)
    let sent = server.requests { $0.method == "POST" && $0.parameters["SID"] != nil }
    #expect(sent.count == 2)
    #expect(sent[0].parameters["RID"] == sent[1].parameters["RID"])
    #expect(sent.map { $0.form["ofs"] } == ["1", "1"])
    #expect(sent.map { $0.form["req1___data__"] } == [#"{"n":2}"#, #"{"n":2}"#])
  }

  @Test func aCutBackChannelContinuesAfterTheLastArray() throws {
    let loop = PollLoop()
    let server = try Server(loop) { request in
      if request.parameters["SID"] == nil { return Server.opened }
      guard request.parameters["RID"] == "rpc" else { return .none }
      switch request.parameters["AID"] {
      case "0": return .whole(200, Server.frame(#"[[1,[{"n":1}]],[2,[{"n":2}]]]"#))
      case "1": return .begun(Server.frame(#"[[2,[{"n":2}]],[3,[{"n":3}]]]"#))
      default: return .begun(Server.frame(#"[[3,[{"n":3}]]]"#))
      }
    }
    let client = client(server, loop)
    var messages: [String] = []
    client.onMessage = { messages.append(String(decoding: $0, as: UTF8.self)) }
    client.open([Array("{}".utf8)])
    #expect(loop.run(seconds: 5) { messages.count == 3 })
    #expect(messages == [#"{"n":1}"#, #"{"n":2}"#, #"{"n":3}"#])
    #expect(client.end == nil)
  }

  @Test func theEndOfACallIsTheEndOfTheSession() throws {
    #expect(try end(of: Server.frame(#"[[1,["noop"]],[2,["close"]]]"#)) == .closed)
    #expect(
      try end(of: Server.frame(#"[[1,[{"error":{"code":5,"status":"NOT_FOUND","message":"m"}}]]]"#))
        == .error(status: "NOT_FOUND", message: "m"))
  }

  @Test(arguments: [
    #"[[2,["noop"]]]"#, #"[[1,["noop"]],[3,["noop"]]]"#, #"[[0,["noop"]]]"#, #"[[1,["noop"]],[1,["noop"]]]"#,
    #"[[1,["c","s2","",8,12,30000]]]"#, #"[[1,["x"]]]"#, #"[]"#,
  ])
  func otherArraysEndTheSession(json: String) throws {
    guard case .violation? = try end(of: Server.frame(json)) else {
      Issue.record("\(json) is accepted")
      return
    }
  }

  @Test func aWrongLengthEndsTheSession() throws {
    guard case .violation? = try end(of: "15\n[[1,[\"é😀\"]]]") else {
      Issue.record("a length in bytes is accepted")
      return
    }
  }

  @Test func anArrayThatComesAgainWithAnotherContentIsAViolation() throws {
    let loop = PollLoop()
    var backs = 0
    let server = try Server(loop) { request in
      if request.parameters["SID"] == nil { return Server.opened }
      guard request.parameters["RID"] == "rpc" else { return .none }
      backs += 1
      let first = (request.parameters["AID"].flatMap { Int($0) } ?? 0) + 1
      let arrays = (first..<first + 4).map { #"[\#($0),[{"n":\#(backs)}]]"# }
      return .whole(200, Server.frame("[\(arrays.joined(separator: ","))]"))
    }
    let client = client(server, loop)
    client.open([Array("{}".utf8)])
    #expect(loop.run(seconds: 5) { client.end != nil })
    #expect(client.end?.description.contains("with another content") == true)
  }

  @Test func aRefusedRequestEndsTheSession() throws {
    let loop = PollLoop()
    let server = try Server(loop) { request in
      request.parameters["SID"] == nil ? Server.opened : .whole(400, "Unknown SID")
    }
    let client = client(server, loop)
    client.open([Array("{}".utf8)])
    #expect(loop.run(seconds: 5) { client.end != nil })
    #expect(client.end == .refused(status: 400, body: "Unknown SID"))
  }

  @Test func theClientEndsItsSessionUntilThatIsAnswered() throws {
    let loop = PollLoop()
    var terminations = 0
    let server = try Server(loop) { request in
      if request.parameters["SID"] == nil { return Server.opened }
      guard request.parameters["TYPE"] == "terminate" else { return .none }
      terminations += 1
      return terminations < 3 ? .lost : .whole(200, "")
    }
    let client = client(server, loop)
    client.open([Array("{}".utf8)])
    #expect(loop.run(seconds: 5) { client.session != nil })
    client.terminate()
    #expect(loop.run(seconds: 5) { client.isTerminationAnswered })
    #expect(client.end == .terminated)
    #expect(terminations == 3)
  }

  @Test func aSilentStreamBecomesAPoll() throws {
    let loop = PollLoop()
    let server = try Server(loop) { request in
      if request.parameters["SID"] == nil { return Server.opened }
      return request.parameters["CI"] == "1" ? .whole(200, Server.frame(#"[[1,["close"]]]"#)) : .none
    }
    let client = client(server, loop) { $0.silenceMilliseconds = 5 }
    client.open([Array("{}".utf8)])
    #expect(loop.run(seconds: 5) { client.end != nil })
    #expect(client.end == .closed)
    #expect(client.counts.bufferedBackChannels == 1)
  }
}
#endif
