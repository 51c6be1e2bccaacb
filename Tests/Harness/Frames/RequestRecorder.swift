// A handler that writes down what it is called with, and answers by the path of the request.

import ByteStore
package import HTTPTransport

/// Records requests, and checks the order of the calls.
package final class RequestRecorder: HTTPHandler {
  /// The calls about one request.
  package struct Record: Sendable, Equatable {
    package var method: String
    package var target: String
    package var authority: String
    package var fieldCount: Int
    package var body: [UInt8] = []
    package var isFinished = false
    package var isCancelled = false
    /// A call that must not come any more.
    package var violation: String?
  }

  private struct State {
    var records: [Record] = []
    var responses: [HTTPResponse] = []
    var refused: [HTTPRequest] = []
  }

  private let state = Locked(State())

  package init() {}

  package var records: [Record] { state.withLock { $0.records } }
  /// The responses of requests whose path does not begin with `/now`.
  package var responses: [HTTPResponse] { state.withLock { $0.responses } }

  /// The requests that were refused before they were begun.
  package var refused: [HTTPRequest] { state.withLock { $0.refused } }

  package func refusalFields(_ request: HTTPRequest) -> HTTPFields {
    state.withLock { $0.refused.append(request) }
    return HTTPFields(["x-refused": "yes"])
  }

  package func begin(_ request: HTTPRequest, _ response: HTTPResponse) -> any HTTPBodyReceiver {
    let record = Record(
      method: request.method, target: request.target, authority: request.authority,
      fieldCount: request.fields.count)
    let index = state.withLock { state in
      state.records.append(record)
      state.responses.append(response)
      return state.records.count - 1
    }
    state.wakeAll()
    return Receiver(self, index, response, answersNow: request.target.utf8.starts(with: "/now".utf8))
  }

  fileprivate func change(_ index: Int, _ body: (inout Record) -> Void) {
    state.withLock { body(&$0.records[index]) }
    state.wakeAll()
  }

  /// Waits until the records meet a condition.
  package func wait(until condition: ([Record]) -> Bool) {
    state.withLock(when: { condition($0.records) }) { _ in }
  }
}

private final class Receiver: HTTPBodyReceiver {
  private let recorder: RequestRecorder
  private let index: Int
  private let response: HTTPResponse
  private let answersNow: Bool

  init(_ recorder: RequestRecorder, _ index: Int, _ response: HTTPResponse, answersNow: Bool) {
    self.recorder = recorder
    self.index = index
    self.response = response
    self.answersNow = answersNow
  }

  func receive(_ bytes: ArraySlice<UInt8>) {
    recorder.change(index) { record in
      if record.isFinished || record.isCancelled { record.violation = "bytes after the end" }
      record.body += bytes
    }
  }

  func finish() {
    recorder.change(index) { record in
      if record.isFinished || record.isCancelled { record.violation = "a second end" }
      record.isFinished = true
    }
    guard answersNow else { return }
    response.begin(200, HTTPFields(["content-type": "text/plain"]))
    response.send(Array("answer".utf8))
    response.end(HTTPFields(["status": "0"]))
  }

  func cancel() {
    recorder.change(index) { record in
      if record.isCancelled { record.violation = "cancelled twice" }
      record.isCancelled = true
    }
  }
}

/// Collects refusals, and counts connections.
package final class RefusalRecorder: TransportObserver {
  private struct State {
    var refusals: [Refusal] = []
    var openCount = 0
  }

  private let state = Locked(State())

  package init() {}

  package var refusals: [Refusal] { state.withLock { $0.refusals } }

  /// Waits until this number of connections is open.
  package func waitForConnections(_ count: Int) { state.withLock(when: { $0.openCount == count }) { _ in } }

  package func connectionOpened(_ connection: ConnectionInfo) { count(1) }

  package func connectionClosed(_ connection: ConnectionInfo) { count(-1) }

  package func refused(_ refusal: Refusal, _ connection: ConnectionInfo, detail: String) {
    state.withLock { $0.refusals.append(refusal) }
  }

  private func count(_ change: Int) {
    state.withLock { $0.openCount += change }
    state.wakeAll()
  }
}
