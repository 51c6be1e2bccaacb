// Calls of gRPC: messages, deadlines, cancellation and answers from any thread.

import ByteStore
import CAllocations
import Harness
import Testing

@testable import HTTPTransport

@Suite struct GRPCExchangeTests {
  private static let initial = HTTPFields([
    "content-type": "application/grpc", "grpc-accept-encoding": "identity",
  ])

  // MARK: Answers

  @Test func aUnaryCallIsAnsweredWithinOneTurn() {
    let calls = echo()
    let peer = CallPeer(calls)
    peer.exchange.receive(CallPeer.frame([1, 2, 3])[...])
    peer.exchange.finish()
    #expect(
      calls.events == [.call("/service/Method", timeoutNanoseconds: nil), .message([1, 2, 3]), .finish])
    #expect(
      peer.sink.events == [
        .begin(200, Self.initial), .send(CallPeer.frame([1, 2, 3])), .end(HTTPFields(["grpc-status": "0"])),
      ])
    #expect(peer.loop.executeCount == 0)
  }

  @Test func anAnswerFromAnotherThreadWakesTheLoopOnce() {
    let answers = Locked<[GRPCAnswer]>([])
    let peer = CallPeer(RecordedCalls { _, answer in answers.withLock { $0.append(answer) } })
    let answer = answers.withLock { $0[0] }
    peer.loop.elsewhere {
      answer.send([1])
      answer.send([])
      answer.end(.ok)
    }
    #expect(peer.loop.executeCount == 1)
    #expect(peer.sink.events.isEmpty)
    peer.loop.run()
    #expect(peer.sink.body == CallPeer.frame([1]) + CallPeer.frame([]))
    #expect(peer.sink.status.code == "0")
    #expect(peer.loop.executeCount == 1)
  }

  @Test func callsOnTheLoopComeAfterThoseThatWaitForIt() {
    let answers = Locked<[GRPCAnswer]>([])
    let peer = CallPeer(RecordedCalls { _, answer in answers.withLock { $0.append(answer) } })
    let answer = answers.withLock { $0[0] }
    peer.loop.elsewhere { answer.send([1]) }
    answer.send([2])
    answer.end(.ok)
    peer.loop.run()
    #expect(peer.sink.body == CallPeer.frame([1]) + CallPeer.frame([2]))
    #expect(peer.sink.events.count == 4)
  }

  @Test func anErrorWithoutMessagesIsSentInTheOnlyFields() {
    let peer = CallPeer(
      RecordedCalls { _, answer in answer.end(GRPCStatus(code: 5, message: "no 100 % \u{E9}")) })
    var fields = Self.initial
    fields.append("grpc-status", "5")
    fields.append("grpc-message", "no 100 %25 %C3%A9")
    #expect(peer.sink.events == [.begin(200, fields), .end(HTTPFields())])
  }

  @Test func callsAfterTheEndAreIgnored() {
    let calls = RecordedCalls { event, answer in
      if case .call = event { answer.end(.ok) }
      answer.send([1])
      answer.end(GRPCStatus(code: 2))
    }
    let peer = CallPeer(calls, fields: CallPeer.fields(timeout: "1S".utf8))
    peer.exchange.receive(CallPeer.frame([1])[...])
    peer.exchange.finish()
    peer.loop.advance(seconds: 2)
    peer.exchange.cancel()
    #expect(peer.sink.events.count == 2)
    #expect(peer.exchange.answer.status == .ok)
    #expect(calls.events.count == 1)
    #expect(peer.loop.timerCount == 0)
  }

  @Test func aLargeMessageIsNotCopied() {
    let message = [UInt8](repeating: 7, count: GRPCFrame.copiedBytesMax + 1)
    let peer = CallPeer(RecordedCalls { _, answer in answer.send(message) })
    #expect(peer.sink.events.suffix(2) == [.send(Array(CallPeer.frame(message).prefix(5))), .send(message)])
  }

  @Test func aUnaryCallOnTheLoopTakesFewAllocations() throws {
    let handler = UnaryHandler()
    let request = HTTPRequest(
      method: "POST", target: "/service/Method", authority: "localhost", fields: CallPeer.fields(),
      connection: ConnectionInfo(number: 1, peer: "127.0.0.1", isLoopback: true, version: 2))
    let sink = SilentSink()
    let (loop, pool) = (AlwaysCurrentLoop(), InlinePool())
    let frame = CallPeer.frame([UInt8](repeating: 1, count: 300))[...]
    func call() -> Int {
      let response = HTTPResponse(loop, sink, queue: ResponseQueue(on: pool))
      let before = allocations_of_this_thread()
      let exchange = GRPCExchange(request, response, handler: handler, limits: HTTPLimits())
      exchange.receive(frame)
      exchange.finish()
      return Int(allocations_of_this_thread() - before)
    }
    _ = call()
    let count = call()
    // Most of these are slices and closures that only unoptimised builds allocate.
    if allocations_are_counted() { #expect(count <= 64) }
    #expect(sink.endCount == 2)
  }

  // MARK: Deadlines

  @Test func aCallEndsAtItsDeadlineAndItsHandlerIsCancelledOnce() {
    let calls = RecordedCalls()
    let peer = CallPeer(calls, fields: CallPeer.fields(timeout: "2S".utf8))
    peer.exchange.receive(CallPeer.frame([1])[...])
    peer.loop.advance(seconds: 1)
    #expect(peer.sink.events.isEmpty)
    peer.loop.advance(seconds: 1)
    #expect(peer.sink.status.code == "4")
    #expect(peer.exchange.answer.status?.code == 4)
    peer.exchange.receive(CallPeer.frame([2])[...])
    peer.exchange.finish()
    peer.exchange.cancel()
    #expect(
      calls.events == [
        .call("/service/Method", timeoutNanoseconds: 2_000_000_000), .message([1]), .cancel,
      ])
    #expect(peer.sink.events.count == 2)
  }

  @Test func anEndFromAnotherThreadComesBeforeTheDeadline() {
    let answers = Locked<[GRPCAnswer]>([])
    let calls = RecordedCalls { _, answer in answers.withLock { $0.append(answer) } }
    let peer = CallPeer(calls, fields: CallPeer.fields(timeout: "2S".utf8))
    peer.loop.elsewhere { answers.withLock { $0[0] }.end(.ok) }
    peer.loop.advance(seconds: 2)
    #expect(peer.sink.status.code == "0")
    #expect(!calls.events.contains(.cancel))
    #expect(peer.loop.timerCount == 0)
  }

  @Test func aTimerIsCancelledWithItsCall() {
    let peer = CallPeer(echo(), fields: CallPeer.fields(timeout: "99999999H".utf8))
    #expect(peer.loop.timerCount == 1)
    peer.exchange.finish()
    #expect(peer.loop.timerCount == 0)
    let other = CallPeer(RecordedCalls(), fields: CallPeer.fields(timeout: "1H".utf8))
    other.exchange.cancel()
    #expect(other.loop.timerCount == 0)
  }

  @Test(arguments: [("0n", "4"), ("00000000H", "4"), ("1", "13"), ("", "13"), ("1s", "13")])
  func anExpiredOrMalformedTimeoutEndsTheCallBeforeItsHandler(timeout: String, code: String) {
    let calls = RecordedCalls()
    var fields = CallPeer.fields()
    fields.append("grpc-timeout", timeout)
    let peer = CallPeer(calls, fields: fields)
    peer.exchange.receive(CallPeer.frame([1])[...])
    peer.exchange.finish()
    peer.exchange.cancel()
    #expect(peer.sink.status.code == code)
    #expect(calls.events.isEmpty)
    #expect(peer.loop.timerCount == 0)
  }

  // MARK: Cancellation

  @Test func aLostCallIsCancelledOnceAndSendsNothing() {
    let answers = Locked<[GRPCAnswer]>([])
    let calls = RecordedCalls { _, answer in answers.withLock { $0.append(answer) } }
    let peer = CallPeer(calls)
    let answer = answers.withLock { $0[0] }
    peer.loop.elsewhere { answer.send([1]) }
    peer.exchange.cancel()
    peer.exchange.cancel()
    answer.send([2])
    answer.end(.ok)
    peer.loop.run()
    #expect(calls.events.count { $0 == .cancel } == 1)
    #expect(peer.sink.events.isEmpty)
    #expect(answer.status == nil, "the client has gone")
  }

  @Test func nothingIsKeptAfterTheEnd() {
    weak var receiver: (any GRPCReceiver)?
    let handler = WeakHandler { receiver = $0 }
    let peer = CallPeer(handler, fields: CallPeer.fields(timeout: "1H".utf8))
    #expect(receiver != nil)
    peer.exchange.cancel()
    #expect(receiver == nil)
  }

  // MARK: Malformed calls

  @Test(arguments: [
    (CallPeer.frame([1], flag: 1), "12"), (CallPeer.frame([1], flag: 2), "13"), ([0, 0], "13"),
    (Array(CallPeer.frame([1, 2]).dropLast()), "13"), ([0, 0, 0, 0, 1], "13"), ([0, 0, 0, 4, 1], "8"),
    ([0, 255, 255, 255, 255], "8"),
  ])
  func aMalformedBodyEndsTheCall(body: [UInt8], code: String) {
    var limits = HTTPLimits()
    limits.messageBytesMax = 1024
    let calls = RecordedCalls()
    let peer = CallPeer(calls, limits: limits)
    peer.exchange.receive((CallPeer.frame([9]) + body)[...])
    peer.exchange.finish()
    peer.exchange.receive(CallPeer.frame([1])[...])
    peer.exchange.finish()
    peer.exchange.cancel()
    #expect(peer.sink.status.code == code)
    #expect(calls.events.dropFirst() == [.message([9]), .cancel])
  }

  @Test func aRequestThatIsNoCallGetsAnAnswerOfHTTP() {
    let calls = RecordedCalls()
    func status(_ type: String, _ method: String) -> Int? {
      let peer = CallPeer(calls, fields: HTTPFields(["content-type": type]), method: method)
      peer.exchange.receive(CallPeer.frame([1])[...])
      peer.exchange.finish()
      peer.exchange.cancel()
      guard case .begin(let status, _)? = peer.sink.events.first, peer.sink.events.count == 3 else {
        return nil
      }
      return status
    }
    #expect(status("application/json", "POST") == 415)
    #expect(status("application/grpc-web+proto", "POST") == 415)
    #expect(status("application/grpc", "GET") == 405)
    #expect(calls.events.isEmpty)
    #expect(status("Application/GRPC+proto; charset=utf-8", "POST") == nil)
    #expect(calls.events.count > 0)
  }

  private func echo() -> RecordedCalls {
    RecordedCalls { event, answer in
      if case .message(let message) = event { answer.send(message) }
      if event == .finish { answer.end(.ok) }
    }
  }
}

private final class UnaryHandler: GRPCHandler {
  static let response = [UInt8](repeating: 2, count: 300)

  func begin(_ call: GRPCRequest, _ answer: GRPCAnswer) -> any GRPCReceiver { Receiver(answer) }

  private final class Receiver: GRPCReceiver {
    private let answer: GRPCAnswer

    init(_ answer: GRPCAnswer) { self.answer = answer }

    func receive(_ message: [UInt8]) {
      answer.send(UnaryHandler.response)
      answer.end(.ok)
    }

    func finish() {}
    func cancel() {}
  }
}

private final class WeakHandler: GRPCHandler, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: one test uses it, on one thread.
  private let note: (any GRPCReceiver) -> Void

  init(_ note: @escaping (any GRPCReceiver) -> Void) { self.note = note }

  func begin(_ call: GRPCRequest, _ answer: GRPCAnswer) -> any GRPCReceiver {
    let receiver = RecordedCalls().begin(call, answer)
    note(receiver)
    return receiver
  }
}

private final class SilentSink: ResponseSink {
  private(set) var endCount = 0

  func begin(_ status: Int, _ fields: HTTPFields) {}
  func send(_ bytes: [UInt8]) {}
  func end(_ trailers: HTTPFields) { endCount += 1 }
  func abort() {}
}

private final class AlwaysCurrentLoop: LoopExecutor {
  var isCurrent: Bool { true }
  func execute(_ block: @escaping @Sendable () -> Void) { block() }
  func after(_ nanoseconds: UInt64, _ block: @escaping @Sendable () -> Void) -> any LoopTimer { NoTimer() }

  private final class NoTimer: LoopTimer { func cancel() {} }
}
