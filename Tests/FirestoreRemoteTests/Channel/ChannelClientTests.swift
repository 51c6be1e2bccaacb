// The state machine of a session, step by step.

import HTTPClient
import OfflineSync
import Testing

@testable import FirestoreRemote

@Suite struct ChannelClientTests {
  /// A client whose requests are answered by the test.
  private struct Script {
    var client: ChannelClient
    var requests: [(number: UInt64, content: WebRequest)] = []
    var cancelled: [UInt64] = []
    var timers: [(number: UInt64, delay: Int64)] = []
    var events: [MessageEvent] = []
    var buffering = 0

    init(
      _ method: String = "Listen", fields: [WebRequest.Field] = [],
      settings: ChannelSettings = ChannelSettings()
    ) {
      let address = SessionAddress(method: method, database: "projects/p/databases/(default)", seed: 7)
      client = ChannelClient(address, fields: fields, polls: false, settings: settings)
    }

    mutating func take(_ event: ClientEvent) {
      for action in client.receive(event) {
        switch action {
        case .begin(let number, let content): requests.append((number, content))
        case .cancel(let number): cancelled.append(number)
        case .wake(let number, let delay): timers.append((number, delay))
        case .deliver(let event): events.append(event)
        case .noteBuffering: buffering += 1
        }
      }
      client.checkInvariants()
    }

    mutating func send(_ text: String) { take(.send(Array(text.utf8))) }

    /// Passes the time of the last timer with this delay.
    mutating func wake(_ delay: Int64) {
      guard let timer = timers.last(where: { $0.delay == delay }) else {
        Issue.record("no timer of \(delay) in \(timers)")
        return
      }
      take(.timer(timer.number))
    }

    mutating func wakeLast() { take(.timer(timers.last!.number)) }

    /// Answers the last request of this kind, whole.
    mutating func answer(
      _ method: String, _ status: Int = 200, _ body: String = "", fields: [String: String] = [:]
    ) {
      begin(method, status, body, fields: fields)
      take(.answer(request: last(method).number, .ended(nil)))
    }

    mutating func begin(
      _ method: String, _ status: Int = 200, _ body: String = "", fields: [String: String] = [:]
    ) {
      let number = last(method).number
      take(.answer(request: number, .head(status: status, fields: fields)))
      if !body.isEmpty { take(.answer(request: number, .bytes(Array(body.utf8)))) }
    }

    mutating func fail(_ method: String) {
      take(.answer(request: last(method).number, .ended(WebFailure("lost"))))
    }

    func last(_ method: String) -> (number: UInt64, content: WebRequest) {
      requests.last { $0.content.method == method }!
    }

    mutating func open() {
      send("{}")
      answer("POST", 200, framed(#"[[0,["c","sid/1","",8,12,30000]]]"#), fields: ["x-http-session-id": "g+s"])
    }

    mutating func bring(_ text: String) { begin("GET", 200, framed(text)) }
  }

  private static func framed(_ text: String) -> String { "\(text.utf16.count)\n\(text)" }

  private static func body(_ request: WebRequest) -> String {
    String(decoding: request.body ?? [], as: UTF8.self)
  }

  @Test func theFirstMessageOpensTheSession() throws {
    var script = Script(fields: [
      WebRequest.Field("Authorization", "Bearer a+b"), WebRequest.Field("X-A", "1"),
    ])
    #expect(script.requests.isEmpty)
    script.send(#"{"a":"é b"}"#)
    let request = script.requests[0].content
    #expect(request.method == "POST")
    #expect(request.fields == [WebRequest.Field("content-type", "application/x-www-form-urlencoded")])
    #expect(
      request.target.wholeMatch(
        of:
          #//google\.firestore\.v1\.Firestore/Listen/channel\?VER=8&database=projects%2Fp%2Fdatabases%2F\(default\)&RID=\d+&CVER=22&X-HTTP-Session-Id=gsessionid&zx=\w+&t=1/#
      ) != nil, "\(request.target)")
    #expect(
      Self.body(request)
        == "headers=Authorization%3ABearer%20a%2Bb%0D%0AX-A%3A1%0D%0A&count=1&ofs=0&req0___data__=%7B%22a%22%3A%22%C3%A9%20b%22%7D"
    )
    script.answer(
      "POST", 200, Self.framed(#"[[0,["c","sid/1","",8,12,30000]]]"#), fields: ["x-http-session-id": "g+s"])
    let back = script.last("GET").content
    #expect(
      back.target.contains(
        "VER=8&database=projects%2Fp%2Fdatabases%2F(default)&RID=rpc&gsessionid=g%2Bs&SID=sid%2F1&CI=0&AID=0&TYPE=xmlhttp&zx="
      ),
      "\(back.target)")
    script.send("{}")
    let forward = script.last("POST").content
    #expect(forward.target.contains("&gsessionid=g%2Bs&SID=sid%2F1&RID="))
    #expect(forward.target.contains("&AID=0&"))
    #expect(Self.body(forward) == "count=1&ofs=1&req0___data__=%7B%7D")
  }

  @Test func aCallThatWritesOpensWithOneMessage() {
    for (method, bodies) in [
      ("Write", ["1", "2&ofs=1"]), ("Listen", ["1", "2&ofs=1"]),
    ] {
      var script = Script(method)
      script.send("{}")
      script.send("[]")
      script.send("1")
      #expect(Self.body(script.requests[0].content).contains("&count=\(bodies[0])&ofs=0&"))
      script.answer("POST", 200, Self.framed(#"[[0,["c","s"]]]"#))
      #expect(Self.body(script.last("POST").content).hasPrefix("count=\(bodies[1])&"))
    }
  }

  @Test func aLostForwardRequestIsSentAgainAsItWas() {
    var script = Script()
    script.open()
    script.send("1")
    script.send("2")
    let first = script.last("POST").content
    script.fail("POST")
    script.wakeLast()
    let second = script.last("POST").content
    #expect(second.body == first.body && Self.body(first) == "count=1&ofs=1&req0___data__=1")
    #expect(script.requests.count == 4)
    script.answer("POST", 200, Self.framed("[1,0,0]"))
    #expect(Self.body(script.last("POST").content) == "count=1&ofs=2&req0___data__=2")
  }

  @Test func messagesThatWaitShareARequest() {
    var settings = ChannelSettings()
    (settings.messagesMax, settings.messageBytesMax) = (3, 10)
    var script = Script(settings: settings)
    script.open()
    for number in 1...6 { script.send("\(number)") }
    script.send("12345678901234567890")
    script.send("7")
    var bodies: [String] = []
    for _ in 0..<5 {
      bodies.append(Self.body(script.last("POST").content).replacing("___data__", with: ""))
      script.answer("POST", 200, Self.framed("[1,0,0]"))
    }
    #expect(
      bodies == [
        "count=1&ofs=1&req0=1", "count=3&ofs=2&req0=2&req1=3&req2=4", "count=2&ofs=5&req0=5&req1=6",
        "count=1&ofs=7&req0=12345678901234567890", "count=1&ofs=8&req0=7",
      ])
  }

  @Test func theBackChannelBeginsAgainFromTheLastArray() {
    var script = Script()
    script.open()
    script.bring(#"[[1,["noop"]],[2,[{"a":1}]]]"#)
    script.take(.answer(request: script.last("GET").number, .ended(nil)))
    #expect(script.last("GET").content.target.contains("&AID=2&"))
    script.bring(#"[[2,[{"a":1}]],[3,[{"b":1}]]]"#)
    #expect(script.events == [.message(Array(#"{"a":1}"#.utf8)), .message(Array(#"{"b":1}"#.utf8))])
    script.fail("GET")
    script.wakeLast()
    #expect(script.last("GET").content.target.contains("&AID=3&"))
    script.send("{}")
    #expect(script.last("POST").content.target.contains("&AID=3&"))
  }

  @Test func aGapEndsTheCall() {
    var script = Script()
    script.open()
    script.bring(#"[[1,["noop"]],[3,[{"a":1}]]]"#)
    #expect(script.events.count == 1 && script.events[0].isEnd)
    #expect(script.client.phase == .over)
    #expect(script.last("POST").content.target.contains("TYPE=terminate"))
  }

  @Test func aPageInThePlaceOfArraysIsAskedForAgain() {
    var script = Script()
    script.open()
    script.bring(#"[[1,[{"a":1}]]]"#)
    script.take(.answer(request: script.last("GET").number, .bytes(Array("<html>".utf8))))
    #expect(script.cancelled == [script.last("GET").number])
    script.wakeLast()
    script.bring(#"[[2,[{"b":1}]]]"#)
    #expect(script.events.count == 2)
  }

  @Test func failuresInARowEndTheCall() {
    for method in ["GET", "POST"] {
      var script = Script()
      script.open()
      script.send("{}")
      for attempt in 1...5 {
        #expect(script.events.isEmpty)
        script.fail(method)
        guard attempt < 5 else { continue }
        let delay = script.timers.last!.delay
        let base = Int64(500_000) << Int64(attempt - 1)
        #expect(delay >= base * 3 / 4 && delay <= base * 5 / 4)
        script.wakeLast()
      }
      #expect(script.events == [.closed(RemoteError(.unavailable, "lost"))])
    }
  }

  @Test func anArrayEndsTheCountOfFailures() {
    var script = Script()
    script.open()
    for number in 1...20 {
      script.bring("[[\(number),[\"noop\"]]]")
      script.fail("GET")
      script.wakeLast()
    }
    #expect(script.events.isEmpty)
  }

  @Test func anAnswerWithoutArraysIsAFailure() {
    var script = Script()
    script.open()
    for _ in 1..<5 {
      script.answer("GET", 200, Self.framed("[]"))
      script.wakeLast()
    }
    script.answer("GET", 200, "")
    #expect(script.events.count == 1)
  }

  @Test func theEndOfTheCallIsDeliveredOnce() {
    for (array, end) in [
      (#"["close"]"#, MessageEvent.closed(nil)),
      (#"["stop"]"#, .closed(RemoteError(.unavailable, "The server has stopped the session."))),
      (#"[{"error":{"status":"ABORTED","message":"m"}}]"#, .closed(RemoteError(.aborted, "m"))),
    ] {
      var script = Script()
      script.open()
      script.bring("[[1,[{}]],[2,\(array)],[3,[{}]]]")
      #expect(script.events == [.message(Array("{}".utf8)), end])
      #expect(script.last("POST").content.target.contains("TYPE=terminate"))
      let count = script.requests.count
      script.send("{}")
      script.fail("GET")
      script.take(.close)
      #expect(script.events.count == 2 && script.requests.count == count)
    }
  }

  @Test func aSessionThatTheServerDoesNotKnowEnds() {
    let body = #"{"error":{"code":400,"message":"Error: Unknown SID.","status":"INVALID_ARGUMENT"}}"#
    for method in ["GET", "POST"] {
      var script = Script()
      script.open()
      script.send("{}")
      let count = script.requests.count
      script.answer(method, 400, body)
      #expect(script.events == [.closed(RemoteError(.unavailable, "Error: Unknown SID."))])
      #expect(script.requests.count == count)
    }
  }

  @Test func aServerThatIsBusyIsAskedAgain() {
    for status in [408, 429, 500, 502, 503, 504] {
      for method in ["GET", "POST"] {
        var script = Script()
        script.open()
        script.send("{}")
        script.answer(method, status, "<html>")
        #expect(script.events.isEmpty)
        script.wakeLast()
        script.answer(method, 200, method == "GET" ? Self.framed(#"[[1,["noop"]]]"#) : Self.framed("[1,0,0]"))
        #expect(script.events.isEmpty)
      }
    }
  }

  @Test(arguments: [
    (401, "", RemoteError.Code.unauthenticated), (403, "<html>", .permissionDenied),
    (404, "", .unimplemented),
    (429, "", .resourceExhausted), (400, "", .internal), (302, "", .unavailable),
    (200, "<html>", .unavailable),
    (200, "", .unavailable), (403, #"{"error":{"code":403,"status":"UNAUTHENTICATED"}}"#, .unauthenticated),
    (400, #"[{"error":{"code":400,"status":"INVALID_ARGUMENT"}}]"#, .invalidArgument),
    (200, "10\n[[1,[\"c\"]]]", .unavailable), (200, "17\n[[0,[\"c\",\"a\u{1}b\"]]]", .unavailable),
    (500, #"{"error":{"code":500,"status":"INTERNAL"}}"#, .internal),
  ])
  func anAnswerThatDoesNotOpenEndsTheCall(status: Int, body: String, code: RemoteError.Code) {
    var script = Script()
    script.send("{}")
    script.answer("POST", status, body)
    guard case .closed(let error) = script.events.last else {
      Issue.record("the call is not over")
      return
    }
    #expect(error?.code == code)
    #expect(script.requests.count == 1)
  }

  // MARK: Answers without an end

  private static let long = String(repeating: " ", count: 70_000)

  @Test func anEndlessAnswerToAForwardRequestIsCut() {
    var script = Script()
    script.open()
    script.send("{}")
    let (number, content) = script.last("POST")
    script.begin("POST", 200, Self.long)
    #expect(script.cancelled == [number])
    script.wakeLast()
    #expect(script.last("POST").number != number)
    #expect(script.last("POST").content.body == content.body)
    script.answer("POST", 200, Self.framed("[1,0,0]"))
    #expect(script.events.isEmpty)
  }

  @Test func anAnswerThatBeginsAndDoesNotEndIsCutAfterATime() {
    for opens in [true, false] {
      var script = Script()
      if !opens { script.open() }
      script.send("{}")
      let number = script.last("POST").number
      script.begin("POST", opens ? 503 : 200, "<")
      script.wake(20_000_000)
      #expect(script.cancelled == [number])
      #expect(script.events.isEmpty)
      script.wakeLast()
      #expect(script.last("POST").number != number)
      script.answer("POST", 200, Self.framed(opens ? #"[[0,["c","sid"]]]"# : "[1,0,0]"))
      #expect(script.last("GET").content.method == "GET")
      #expect(script.events.isEmpty)
    }
  }

  @Test func theTimeOfAnAnswerEndsWithIt() {
    var script = Script()
    script.open()
    script.send("{}")
    script.answer("POST", 200, Self.framed("[1,0,0]"))
    script.send("{}")
    script.wake(20_000_000)
    #expect(script.cancelled == [])
  }

  @Test func anEndlessPageInPlaceOfABackChannelIsCut() {
    for status in [403, 503] {
      var script = Script()
      script.open()
      let number = script.last("GET").number
      script.begin("GET", status, Self.long)
      #expect(script.cancelled == [number])
      #expect(script.events.isEmpty == (status == 503))
    }
  }

  @Test func aRefusalOfALongRequestSaysSo() throws {
    var script = Script()
    script.open()
    script.send("{}")
    script.answer("POST", 413, #"{"error": {"code": 413, "message": "no"}}"#)
    guard case .closed(let error?)? = script.events.last else {
      Issue.record("the call is not over")
      return
    }
    #expect(error.code == .unavailable)
    #expect(error.message.contains("413") && error.message.contains("client_max_body_size"))
  }

  @Test func openingIsTriedTwice() {
    for status in [nil, 503] as [Int?] {
      var script = Script()
      script.send("{}")
      if let status { script.answer("POST", status, "") } else { script.fail("POST") }
      #expect(script.events.isEmpty)
      script.wakeLast()
      #expect(script.requests[1].content.body == script.requests[0].content.body)
      if let status { script.answer("POST", status, "") } else { script.fail("POST") }
      #expect(script.events.count == 1)
    }
  }

  @Test(arguments: ["a\r\nb", "é", "\u{0}", "a\nb"])
  func aFieldWithAnotherCharacterIsNotSent(value: String) {
    var script = Script(fields: [WebRequest.Field("a", value)])
    script.send("{}")
    #expect(script.requests.isEmpty)
    #expect(script.events.count == 1 && script.client.phase == .over)
  }

  @Test func aStreamThatIsHeldBackIsPolled() {
    var script = Script()
    script.open()
    let first = script.last("GET")
    script.begin("GET", 200, "")
    script.wake(5_000_000)
    #expect(script.cancelled == [first.number])
    #expect(script.last("GET").content.target.contains("&CI=1&"))
    #expect(script.buffering == 0, "the server may be silent")
    script.answer("GET", 200, Self.framed(#"[[1,[{}]]]"#))
    #expect(script.buffering == 1)
    #expect(script.last("GET").content.target.contains("&CI=1&AID=1&"))
    #expect(script.events.count == 1)
  }

  /// Keep-alives come every 30 seconds.
  @Test func aStreamThatIsSilentBeginsAgain() {
    var script = Script()
    script.open()
    script.bring(#"[[1,["noop"]]]"#)
    script.wake(5_000_000)
    let first = script.last("GET")
    for _ in 1...6 { script.wake(5_000_000) }
    #expect(script.cancelled.isEmpty)
    script.wake(5_000_000)
    #expect(script.cancelled == [first.number] && script.buffering == 0)
    #expect(script.last("GET").content.target.contains("&CI=0&AID=1&"))
    // A connection that has streamed is not taken for one that holds streams back.
    script.bring(#"[[2,["noop"]]]"#)
    for _ in 1...7 { script.wake(5_000_000) }
    #expect(script.cancelled == [first.number] && script.buffering == 0)
    #expect(script.events.isEmpty)
  }

  /// The server cannot send anything while the program takes no messages.
  @Test func aPauseOfTheProgramIsNoSilence() {
    var script = Script()
    script.open()
    script.bring(#"[[1,["noop"]]]"#)
    script.wake(5_000_000)
    let first = script.last("GET")
    script.take(.pause)
    for _ in 1...20 { script.wake(5_000_000) }
    #expect(script.cancelled.isEmpty)
    script.take(.resume)
    // A part of this period was in the pause.
    for _ in 1...7 { script.wake(5_000_000) }
    #expect(script.cancelled.isEmpty)
    script.wake(5_000_000)
    #expect(script.cancelled == [first.number])
  }

  @Test func aBackChannelIsNotSuspectedDuringAPause() {
    var script = Script()
    script.open()
    script.bring(#"[[1,["noop"]]]"#)
    let watch = script.timers.last!.number
    script.take(.pause)
    script.send("{}")
    script.answer("POST", 200, Self.framed("[1,9,100]"))
    for _ in 1...3 { script.wakeLast() }
    #expect(script.cancelled.isEmpty)
    let suspicion = script.timers.last!.number
    script.take(.resume)
    script.take(.timer(watch))
    script.take(.timer(suspicion))
    #expect(script.cancelled == [script.requests.first { $0.content.method == "GET" }!.number])
  }

  /// A server that is stopped, or a network without an end, is noticed 45 seconds after the last byte.
  @Test func aServerThatIsSilentTwiceEndsTheCall() {
    var script = Script()
    script.open()
    script.bring(#"[[1,["noop"]]]"#)
    for _ in 1...8 { script.wake(5_000_000) }
    #expect(script.cancelled.count == 1)
    script.fail("GET")
    script.wakeLast()
    #expect(script.events.isEmpty, "the connection may be new")
    script.wake(5_000_000)
    #expect(script.events.count == 1 && script.events[0].isEnd)
  }

  @Test func aServerThatNeverSendsAnythingEndsTheCall() {
    var script = Script()
    script.open()
    script.wake(5_000_000)
    #expect(script.last("GET").content.target.contains("&CI=1&"))
    for _ in 1...6 { script.wake(5_000_000) }
    #expect(script.events.isEmpty)
    script.wake(5_000_000)
    #expect(script.events.count == 1 && script.events[0].isEnd && script.buffering == 0)
  }

  /// Something on the way holds streams back. A poll brings a byte at its end alone.
  @Test func aPollThatIsSilentBeginsAgain() {
    var script = Script()
    script.open()
    script.wake(5_000_000)
    script.answer("GET", 200, Self.framed(#"[[1,[{}]]]"#))
    let second = script.last("GET")
    for _ in 1...7 { script.wake(5_000_000) }
    #expect(script.cancelled.last == second.number)
    #expect(script.last("GET").content.target.contains("&CI=1&TO=5000&"))
    script.wake(5_000_000)
    #expect(script.events.count == 1)
    script.wake(5_000_000)
    #expect(script.events.last?.isEnd == true)
  }

  @Test func aBackChannelThatTheServerDoesNotHaveBeginsAgain() {
    for status in ["[0,1,0]", "[1,9,100]"] {
      var script = Script()
      script.open()
      script.bring(#"[[1,["noop"]]]"#)
      script.send("{}")
      script.answer("POST", 200, Self.framed(status))
      #expect(script.timers.last?.delay == 5_000_000)
      let first = script.last("GET")
      script.wakeLast()
      #expect(script.cancelled == [first.number])
      #expect(script.last("GET").content.target.contains("&AID=1&"))
    }
  }

  @Test func aBackChannelThatBringsBytesIsNotSuspected() {
    var script = Script()
    script.open()
    script.send("{}")
    script.answer("POST", 200, Self.framed("[0,0,0]"))
    let timer = script.timers.last!.number
    script.bring(#"[[1,["noop"]]]"#)
    script.take(.timer(timer))
    #expect(script.cancelled.isEmpty)
  }

  @Test func closingBeforeTheAnswerEndsTheSessionLater() {
    var script = Script()
    script.send("{}")
    script.take(.close)
    #expect(script.requests.count == 1 && script.cancelled.isEmpty)
    script.answer("POST", 200, Self.framed(#"[[0,["c","s"]]]"#))
    #expect(script.requests.count == 2)
    #expect(script.last("POST").content.target.contains("&SID=s&"))
    #expect(script.last("POST").content.target.contains("TYPE=terminate"))
    #expect(script.events.isEmpty)
  }

  @Test func closingEndsAllRequests() {
    var script = Script()
    script.open()
    script.send("{}")
    let open = Set([script.last("GET").number, script.last("POST").number])
    script.take(.close)
    #expect(Set(script.cancelled) == open)
    #expect(script.last("POST").content.target.contains("TYPE=terminate"))
    #expect(script.events.isEmpty)
    for timer in script.timers { script.take(.timer(timer.number)) }
    #expect(script.events.isEmpty)
  }

  /// A proxy may stretch the answer to it without end.
  @Test func aRequestThatEndsTheSessionHasATimeLimit() {
    var script = Script()
    script.open()
    script.take(.close)
    let request = script.last("POST").number
    #expect(!script.cancelled.contains(request))
    script.begin("POST", 200, "")
    script.wakeLast()
    #expect(script.cancelled.last == request)
  }

  @Test func aCallWithoutAMessageHasNoRequest() {
    var script = Script()
    script.take(.close)
    script.send("{}")
    #expect(script.requests.isEmpty && script.events.isEmpty)
  }

  @Test func aPieceThatIsTooLongEndsTheCall() {
    var script = Script()
    script.open()
    script.begin("GET", 200, "99999999\n")
    #expect(
      script.events == [.closed(RemoteError(.resourceExhausted, "A message of the server is too long."))])
  }

  // MARK: Short answers

  @Test func shortAnswersWithoutAMessageAreAskedForWithADelay() {
    var script = Script()
    script.open()
    var delays: [Int64] = []
    for number in 1...8 {
      script.bring("[[\(number),[\"noop\"]]]")
      let requests = script.requests.count
      script.take(.answer(request: script.last("GET").number, .ended(nil)))
      guard script.requests.count == requests else { continue }
      delays.append(script.timers.last!.delay)
      script.wakeLast()
      #expect(script.requests.count == requests + 1)
    }
    #expect(delays.count == 7)
    #expect(delays.first.map { (375_000...625_000).contains($0) } == true)
    #expect(delays.last.map { $0 >= 3_000_000 } == true)
    #expect(script.events.isEmpty)
  }

  @Test func aMessageOrALongAnswerIsFollowedAtOnce() {
    var script = Script()
    script.open()
    script.bring(#"[[1,["noop"]]]"#)
    script.take(.answer(request: script.last("GET").number, .ended(nil)))
    for number in 2...5 {
      script.bring("[[\(number),[{\"a\":1}]]]")
      let requests = script.requests.count
      script.take(.answer(request: script.last("GET").number, .ended(nil)))
      #expect(script.requests.count == requests + 1)
    }
    for number in 6...9 {
      script.bring("[[\(number),[\"noop\"]]]")
      if script.timers.contains(where: { $0.delay == 1_000_000 }) { script.wake(1_000_000) }
      let requests = script.requests.count
      script.take(.answer(request: script.last("GET").number, .ended(nil)))
      #expect(script.requests.count == requests + 1)
    }
  }
}
