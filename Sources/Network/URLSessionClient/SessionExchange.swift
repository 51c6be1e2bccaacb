// A request that a session of URLSession performs.

internal import ByteStore
internal import Dispatch
internal import Foundation
internal import HTTPClient

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// One task and its handler. Usable from any thread.
final class SessionExchange: WebExchange {
  private struct State {
    /// Nil after the end.
    var handler: (@Sendable (WebEvent) -> Void)?
    var lastByte: DispatchTime
    var hasHead = false
    /// Whether the answer is whole although the task fails.
    var isChallenged = false
    /// Whether the exchange has ended the task because of its silence.
    var isSilent = false
  }

  private let task: URLSessionDataTask
  private let silence: DispatchTimeInterval
  private let state: Locked<State>

  init(
    _ task: URLSessionDataTask, silenceSeconds: Double, _ handler: @escaping @Sendable (WebEvent) -> Void
  ) {
    self.task = task
    let milliseconds = min(max(silenceSeconds * 1000, 1), 1e9)
    silence = .milliseconds(milliseconds.isNaN ? 1000 : Int(milliseconds))
    state = Locked(State(handler: handler, lastByte: .now()))
  }

  func resume() {
    task.resume()
    watch(until: .now() + silence)
  }

  func cancel() {
    state.withLock { $0.handler = nil }
    task.cancel()
  }

  // MARK: Events of the session, one after the other

  func receive(_ response: URLResponse) {
    guard let http = response as? HTTPURLResponse else { return }
    var fields: [String: String] = [:]
    for (name, value) in http.allHeaderFields {
      guard let name = name as? String, let value = value as? String else { continue }
      fields[name.lowercased()] = value
    }
    let isFirst = state.withLock { state in
      defer { state.hasHead = true }
      return !state.hasHead
    }
    if isFirst { deliver(.head(status: http.statusCode, fields: fields)) }
  }

  func receive(_ data: Data) {
    guard !data.isEmpty else { return }
    deliver(.bytes([UInt8](data)))
  }

  func noteChallenge() { state.withLock { $0.isChallenged = true } }

  func sentBytes() { state.withLock { $0.lastByte = .now() } }

  func complete(_ error: (any Error)?) {
    let end = state.withLock { state in
      defer { state.handler = nil }
      return state
    }
    end.handler?(.ended(failure(end, error)))
  }

  private func failure(_ end: State, _ error: (any Error)?) -> WebFailure? {
    if end.isSilent { return WebFailure("The server has not sent anything for too long.") }
    guard end.hasHead else {
      return error.map { WebFailure($0) } ?? WebFailure("The answer is not one of HTTP.")
    }
    return end.isChallenged ? nil : error.map { WebFailure($0) }
  }

  private func deliver(_ event: WebEvent) {
    let handler = state.withLock { state in
      state.lastByte = .now()
      return state.isSilent ? nil : state.handler
    }
    handler?(event)
  }

  // MARK: Silence

  private func watch(until deadline: DispatchTime) {
    DispatchQueue.global().asyncAfter(deadline: deadline) { [weak self] in self?.check() }
  }

  private func check() {
    let deadline: DispatchTime? = state.withLock { state in
      guard state.handler != nil else { return nil }
      let deadline = state.lastByte + silence
      if deadline <= .now() { state.isSilent = true }
      return deadline
    }
    guard let deadline else { return }
    if deadline <= .now() { task.cancel() } else { watch(until: deadline) }
  }
}
