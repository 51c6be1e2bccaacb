// The state machine of a session, event by event.

import FirestoreService
import OfflineSync
import Testing

@testable import FirestoreServer

/// A session whose invariants are checked after each event.
final class CheckedSession {
  private(set) var session: ChannelSession
  var now: UInt64 = 0
  private var lastRequest: UInt64 = 0

  init(_ change: (inout ChannelLimits) -> Void = { _ in }) {
    var limits = ChannelLimits()
    change(&limits)
    session = ChannelSession(limits: limits, at: 0)
  }

  func receive(_ event: ChannelEvent) -> [ChannelAction] {
    let actions = session.receive(event, at: now)
    session.checkInvariants()
    return actions
  }

  func advance(_ seconds: Double) -> [ChannelAction] {
    now += UInt64(seconds * 1e9)
    return receive(.time)
  }

  func message(_ texts: String...) -> [ChannelAction] {
    receive(.service(texts.map { .message(Array($0.utf8)) }))
  }

  /// Begins a back channel, and returns its request.
  func begin(
    _ acknowledged: UInt64?, _ mode: BackChannelMode = .streaming
  ) -> (request: UInt64, actions: [ChannelAction]) {
    lastRequest += 1
    let event = ChannelEvent.backChannel(request: lastRequest, acknowledged: acknowledged, mode)
    return (lastRequest, receive(event))
  }

  func forward(_ numbers: UInt64..., acknowledged: UInt64? = nil) -> [ChannelAction] {
    lastRequest += 1
    let requests = numbers.map { FormBody.Request(number: $0, message: [UInt8($0)]) }
    return receive(.forward(request: lastRequest, requests, acknowledged: acknowledged))
  }

  func terminate() -> [ChannelAction] {
    lastRequest += 1
    return receive(.terminate(request: lastRequest))
  }
}

extension [ChannelAction] {
  /// All arrays that were sent, without their lengths.
  var sent: String {
    map { action -> String in
      switch action {
      case .send(_, let bytes), .answer(_, let bytes):
        String(String(decoding: bytes, as: UTF8.self).drop { $0 != "\n" }.dropFirst())
      default: ""
      }
    }
    .joined()
  }
}

@Suite struct ChannelSessionTests {
  private static let noop = #"["noop"]"#

  @Test func aStreamSendsArraysAsTheyCome() {
    let session = CheckedSession()
    #expect(session.message("1", "2") == [])
    let (request, actions) = session.begin(0)
    #expect(actions.first == .begin(request: request))
    #expect(actions.sent == "[[1,[1]],[2,[2]]]")
    #expect(session.message("3").sent == "[[3,[3]]]")
  }

  @Test func aStreamWithoutArraysBeginsWithANoop() {
    let session = CheckedSession()
    let (request, actions) = session.begin(0)
    let noop = ChannelArrays.framed(#"[[1,["noop"]]]"#)
    #expect(actions == [.begin(request: request), .send(request: request, noop)])
  }

  @Test func arraysAreSentAgainUntilTheyAreAcknowledged() {
    let session = CheckedSession()
    _ = session.message("1", "2", "3")
    let first = session.begin(0)
    #expect(first.actions.sent.contains("[1,[1]]"))
    #expect(session.receive(.lost(request: first.request)) == [])
    #expect(session.begin(1).actions.sent == "[[2,[2]],[3,[3]]]")
    #expect(session.session.arrays.count == 2)
    #expect(session.begin(3).actions.sent == "[[4,\(Self.noop)]]")
    #expect(session.session.arrays.count == 1)
  }

  @Test func aNewBackChannelEndsTheOneBefore() {
    let session = CheckedSession()
    _ = session.message("1")
    let first = session.begin(0)
    let second = session.begin(0)
    #expect(second.actions.first == .end(request: first.request))
    #expect(second.actions.sent == "[[1,[1]]]")
    // The end of the first one is no news.
    #expect(session.receive(.lost(request: first.request)) == [])
    #expect(session.message("2").sent == "[[2,[2]]]")
  }

  @Test func aLateBackChannelDoesNotReplaceALaterOne() {
    let session = CheckedSession()
    _ = session.message("1", "2")
    _ = session.begin(0)
    let second = session.begin(2)
    let late = session.begin(1)
    #expect(late.actions == [.refuse(request: late.request, .acknowledgement)])
    let impossible = session.begin(99)
    #expect(impossible.actions == [.refuse(request: impossible.request, .acknowledgement)])
    #expect(
      session.message("x") == [
        .send(request: second.request, ChannelArrays.framed("[[4,[x]]]"))
      ])
  }

  @Test func aPollEndsWithItsFirstArrays() {
    let session = CheckedSession()
    _ = session.message("1", "2")
    let first = session.begin(0, .polling(nanoseconds: nil))
    #expect(
      first.actions == [
        .answer(request: first.request, ChannelArrays.framed("[[1,[1]],[2,[2]]]"))
      ])
    let second = session.begin(2, .polling(nanoseconds: nil))
    #expect(second.actions == [])
    #expect(session.message("3", "4").sent == "[[3,[3]],[4,[4]]]")
    // Between two polls, arrays wait.
    #expect(session.message("5") == [])
  }

  @Test func aPollWithoutArraysEndsInTime() {
    let session = CheckedSession()
    let first = session.begin(0, .polling(nanoseconds: 5_000_000_000))
    #expect(session.advance(4.9) == [])
    #expect(
      session.advance(0.2) == [
        .answer(request: first.request, ChannelArrays.framed("[[1,\(Self.noop)]]"))
      ])
    // The client waits for the time of keep-alives if it asks for more, or for none.
    for mode in [BackChannelMode.polling(nanoseconds: .max), .polling(nanoseconds: nil)] {
      _ = session.begin(session.session.arrays.last, mode)
      #expect(session.advance(29.9) == [])
      #expect(session.advance(0.2).sent.contains("noop"))
    }
  }

  @Test func aQuietStreamHasANoopEveryThirtySeconds() {
    let session = CheckedSession()
    let (request, _) = session.begin(0)
    #expect(session.advance(29) == [])
    #expect(session.message("x").sent == "[[2,[x]]]")
    #expect(session.advance(29) == [])
    #expect(session.advance(1) == [.send(request: request, ChannelArrays.framed("[[3,\(Self.noop)]]"))])
    #expect(session.advance(30).sent == "[[4,\(Self.noop)]]")
  }

  @Test func aSessionThatNeverHadABackChannelIsClosedEarlier() {
    let session = CheckedSession()
    #expect(session.advance(9) == [])
    #expect(session.forward(0).count == 2)
    #expect(session.advance(1) == [.cancelCall(.absent), .forget])
  }

  @Test func aSessionWithoutABackChannelIsClosed() {
    let session = CheckedSession()
    #expect(session.advance(9) == [])
    let (request, _) = session.begin(0)
    for _ in 0..<10 { _ = session.advance(30) }
    #expect(!session.session.isOver)
    #expect(session.receive(.lost(request: request)) == [])
    #expect(session.advance(59) == [])
    _ = session.forward(0)
    #expect(session.advance(1) == [.cancelCall(.absent), .forget])
    let late = session.begin(0)
    #expect(late.actions == [.refuse(request: late.request, .unknown)])
    #expect(session.message("x") == [])
    #expect(session.session.deadline == .max)
  }

  // MARK: Requests of the client

  @Test func requestsOfTheOpeningBodyComeFirst() {
    var limits = ChannelLimits()
    limits.earlyRequestsMax = 5
    var session = ChannelSession(firstRequest: 3, limits: limits, at: 0)
    let requests = [3, 4, 6].map { FormBody.Request(number: $0, message: [UInt8($0)]) }
    let opened = session.receive(.opened(requests), at: 0)
    #expect(opened == [.pass([3]), .pass([4])])
    let next = session.receive(
      .forward(request: 1, [.init(number: 5, message: [5])], acknowledged: nil), at: 0)
    #expect(next.prefix(2) == [.pass([5]), .pass([6])])
  }

  @Test func forwardRequestsAreAnsweredWithTheState() {
    let session = CheckedSession()
    #expect(
      session.forward(0, 1) == [
        .pass([0]), .pass([1]), .answer(request: 1, ChannelArrays.framed("[0,0,0]")),
      ])
    _ = session.message("12345")
    _ = session.begin(0)
    #expect(session.forward(2).sent == "[1,1,5]")
    #expect(session.forward(3, acknowledged: 1).sent == "[1,1,0]")
    #expect(session.forward().sent == "[1,1,0]")
  }

  @Test func repeatedAndEarlyRequestsReachTheCallOnceAndInOrder() {
    let session = CheckedSession()
    #expect(!session.forward(1, 2).contains(.pass([1])))
    #expect(session.session.heldBytes == 2)
    #expect(session.forward(0).prefix(3) == [.pass([0]), .pass([1]), .pass([2])])
    #expect(session.forward(0, 1, 2).count == 1)
    #expect(session.session.heldBytes == 0)
  }

  @Test func requestsThatCannotBeTakenAreRefused() {
    let session = CheckedSession { $0.earlyRequestsMax = 1 }
    #expect(session.forward(0, acknowledged: 1) == [.refuse(request: 1, .acknowledgement)])
    #expect(session.forward(2, 3) == [.refuse(request: 2, .earlyRequests)])
    #expect(session.forward(0).contains(.pass([0])))
  }

  // MARK: Ends

  @Test func anErrorIsTheLastArrayAndIsSentAgain() {
    let session = CheckedSession()
    let first = session.begin(0)
    let ended = session.receive(.service([.message([0x31]), .ended(RemoteError(.notFound, "No é"))]))
    #expect(ended.last == .end(request: first.request))
    #expect(
      ended.sent == #"[[2,[1]],[3,[{"error":{"code":404,"message":"No é","status":"NOT_FOUND"}}]]]"#)
    // The end was lost on its way.
    let second = session.begin(2)
    #expect(second.actions.first == .begin(request: second.request))
    #expect(second.actions.last == .end(request: second.request))
    #expect(second.actions.sent.hasPrefix("[[3,[{"))
    // Requests are no longer passed on.
    #expect(!session.forward(0).contains(.pass([0])))
    let third = session.begin(3)
    #expect(third.actions == [.refuse(request: third.request, .unknown), .forget])
  }

  @Test func anEndWithoutAnErrorIsClose() {
    let session = CheckedSession()
    let poll = session.begin(0, .polling(nanoseconds: nil))
    #expect(
      session.receive(.service([.ended(nil)])) == [
        .answer(request: poll.request, ChannelArrays.framed(#"[[1,["close"]]]"#))
      ])
    #expect(session.forward(acknowledged: 1).last == .forget)
  }

  @Test func anEndThatNothingFetchesIsForgotten() {
    let session = CheckedSession()
    _ = session.receive(.service([.ended(nil)]))
    #expect(session.advance(60) == [.forget])
  }

  @Test func theClientEndsASessionInEachPhase() {
    let open = CheckedSession()
    #expect(open.terminate() == [.cancelCall(.terminated), .answer(request: 1, []), .forget])
    #expect(open.terminate() == [.refuse(request: 2, .unknown)])
    let streaming = CheckedSession()
    let stream = streaming.begin(0)
    #expect(
      streaming.terminate() == [
        .cancelCall(.terminated), .end(request: stream.request), .answer(request: 2, []), .forget,
      ])
    let polling = CheckedSession()
    let poll = polling.begin(0, .polling(nanoseconds: nil))
    #expect(
      polling.terminate() == [
        .cancelCall(.terminated), .answer(request: poll.request, []), .answer(request: 2, []), .forget,
      ])
    let ended = CheckedSession()
    _ = ended.receive(.service([.ended(nil)]))
    #expect(ended.terminate() == [.answer(request: 1, []), .forget])
  }

  @Test func aServerWithoutMemoryDropsTheSession() {
    let session = CheckedSession()
    let (request, _) = session.begin(0)
    #expect(session.receive(.drop) == [.cancelCall(.dropped), .end(request: request), .forget])
    #expect(session.session.heldBytes == 0)
  }

  // MARK: Shutting down

  @Test func aShutdownKeepsResultsUntilTheyAreAcknowledged() {
    let session = CheckedSession()
    _ = session.message("greeting", "1", "2")
    #expect(session.receive(.drain) == [])
    // The call ends after this write, which it has taken. The client has no back channel.
    #expect(session.receive(.service([.message(Array("3".utf8)), .ended(nil)])) == [])
    // Requests that come later are not passed, but they acknowledge.
    let forward = session.forward(0, acknowledged: 2)
    #expect(forward.count == 1)
    #expect(forward.sent.hasPrefix("[0,5,"))
    let poll = session.begin(2, .polling(nanoseconds: nil))
    #expect(poll.actions.sent.hasPrefix("[[3,[2]],[4,[3]],[5,[{"))
    #expect(poll.actions.sent.contains(#""status":"UNAVAILABLE""#))
    // The answer was lost.
    let stream = session.begin(4)
    #expect(stream.actions.sent.hasPrefix("[[5,[{"))
    #expect(stream.actions.last == .end(request: stream.request))
    #expect(!session.session.isOver)
    let last = session.begin(5)
    #expect(last.actions == [.refuse(request: last.request, .unknown), .forget])
  }

  @Test(arguments: [nil, BackChannelMode.streaming, .polling(nanoseconds: nil)])
  func aShutdownEndsASessionWhoseClientHasAllResults(mode: BackChannelMode?) {
    let session = CheckedSession()
    _ = session.message("greeting", "1")
    _ = session.forward(0, acknowledged: 2)
    let request = mode.map { session.begin(2, $0).request }
    _ = session.receive(.drain)
    let actions = session.receive(.service([.ended(nil)]))
    #expect(actions.last == .forget)
    #expect(actions.sent.contains("UNAVAILABLE") == (request != nil))
    if mode == .streaming { #expect(actions.dropLast().last == .end(request: request ?? 0)) }
  }

  @Test func theAnswerToTheOpeningIsNoResult() {
    let session = CheckedSession()
    _ = session.message("greeting")
    _ = session.receive(.drain)
    #expect(session.receive(.service([.ended(nil)])) == [.forget])
  }

  @Test func aShutdownKeepsTheErrorOfAWrite() {
    let session = CheckedSession()
    _ = session.message("greeting")
    _ = session.receive(.drain)
    #expect(session.receive(.service([.ended(RemoteError(.notFound, "no"))])) == [])
    #expect(session.begin(1).actions.sent.contains("NOT_FOUND"))
    #expect(session.terminate().last == .forget)
  }

  @Test func aShutdownSendsABacklogFirst() {
    let session = CheckedSession { $0.unreadBytesMax = 10 }
    _ = session.message("greeting")
    let (request, _) = session.begin(0)
    _ = session.receive(.drain)
    // The client has to read before the end of the call fits.
    #expect(session.receive(.service([.ended(nil)])) == [])
    let actions = session.receive(.read(request: request))
    #expect(actions.sent.contains("UNAVAILABLE"))
    #expect(actions.last == .end(request: request))
  }

  // MARK: Backpressure

  @Test func aStreamThatIsNotReadStops() {
    let session = CheckedSession { $0.unreadBytesMax = 20 }
    let (request, _) = session.begin(0)
    let long = String(repeating: "x", count: 30)
    #expect(session.message(long).last == .askWhenRead(request: request))
    #expect(session.message("1", "2") == [])
    // A client that has more to read needs no noop.
    #expect(session.advance(30) == [])
    #expect(session.receive(.read(request: request)).sent == "[[3,[1]],[4,[2]]]")
    #expect(session.receive(.read(request: request + 1)) == [])
  }

  @Test func theCallWaitsForAClientThatIsNotThere() {
    let session = CheckedSession {
      $0.arraysMax = 4
      $0.arraysPerBackChannelMax = 2
    }
    #expect(session.message("1", "2", "3") == [])
    #expect(session.message("4") == [.setPaused(true)])
    let first = session.begin(0)
    #expect(first.actions.sent == "[[1,[1]],[2,[2]]]")
    #expect(first.actions.last == .end(request: first.request))
    let second = session.begin(2)
    #expect(second.actions.first == .setPaused(false))
    #expect(second.actions.sent == "[[3,[3]],[4,[4]]]")
    #expect(session.begin(4).actions.sent == "[[5,\(Self.noop)]]")
  }

  @Test func bytesPauseTheCallToo() {
    let session = CheckedSession { $0.arrayBytesMax = 1000 }
    #expect(session.message(String(repeating: "x", count: 800)) == [])
    #expect(session.message(String(repeating: "x", count: 200)) == [.setPaused(true)])
    #expect(session.forward(acknowledged: 1).contains(.setPaused(false)))
  }

  /// Otherwise neither the client nor the call would ever continue.
  @Test func aStreamThatHasSentEverythingEndsWhileTheCallWaits() {
    let session = CheckedSession { $0.arraysMax = 3 }
    let first = session.begin(0)
    let actions = session.message("2", "3")
    #expect(actions.first == .setPaused(true))
    #expect(actions.last == .end(request: first.request))
    #expect(session.begin(3).actions.first == .setPaused(false))
  }

  @Test func aPollSendsABoundedPart() {
    let session = CheckedSession { $0.arraysPerBackChannelMax = 2 }
    _ = session.message("1", "2", "3")
    #expect(session.begin(0, .polling(nanoseconds: nil)).actions.sent == "[[1,[1]],[2,[2]]]")
    #expect(session.begin(2, .polling(nanoseconds: nil)).actions.sent == "[[3,[3]]]")
  }
}
