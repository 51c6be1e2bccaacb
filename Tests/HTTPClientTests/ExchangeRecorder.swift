// Takes the events of a request, and waits for them.

import ByteStore
import HTTPClient

/// The events of one request. Usable from any thread.
final class ExchangeRecorder: Sendable {
  private let events = Locked<[WebEvent]>([])
  private let signal = Signal()

  func take(_ event: WebEvent) {
    events.withLock { $0.append(event) }
    signal.wake()
  }

  var all: [WebEvent] { events.withLock { $0 } }

  var status: Int? {
    for case .head(let status, _) in all { return status }
    return nil
  }

  var fields: [String: String] {
    for case .head(_, let fields) in all { return fields }
    return [:]
  }

  var body: [UInt8] {
    var body: [UInt8] = []
    for case .bytes(let bytes) in all { body += bytes }
    return body
  }

  var failure: WebFailure? {
    for case .ended(let failure) in all { return failure }
    return nil
  }

  /// Waits until the events fulfil a condition; returns false if they do not within half a minute.
  func waits(for condition: ([WebEvent]) -> Bool) -> Bool {
    events.withLock(wokenBy: signal, within: 30_000_000_000, when: { condition($0) }) { condition($0) }
  }

  func waitsForEnd() -> Bool { waits { $0.contains { if case .ended = $0 { true } else { false } } } }

  func waitsForBytes(_ count: Int) -> Bool {
    waits { $0.reduce(0) { if case .bytes(let bytes) = $1 { $0 + bytes.count } else { $0 } } >= count }
  }
}
