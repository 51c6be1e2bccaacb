// Takes the events of a call, and waits for them.

import ByteStore
import FirestoreRemote
import OfflineSync

/// The events of one call. Usable from any thread.
final class CallRecorder: Sendable {
  private let events = Locked<[MessageEvent]>([])
  private let signal = Signal()

  func take(_ event: MessageEvent) {
    events.withLock { $0.append(event) }
    signal.wake()
  }

  var all: [MessageEvent] { events.withLock { $0 } }

  /// Waits until this many events fulfil a condition; returns false if they do not within ten seconds.
  private func waits(count: Int = 1, for condition: (MessageEvent) -> Bool) -> Bool {
    func isFulfilled(_ events: [MessageEvent]) -> Bool {
      events.reduce(0) { $0 + (condition($1) ? 1 : 0) } >= count
    }
    return events.withLock(wokenBy: signal, within: 10_000_000_000, when: { isFulfilled($0) }) {
      isFulfilled($0)
    }
  }

  func waitsForText(_ part: String) -> Bool { waitsForTexts(part, count: 1) }

  func waitsForTexts(_ part: String, count: Int) -> Bool {
    waits(count: count) { $0.text?.contains(part) == true }
  }

  func waitsForEnd() -> Bool { waits { $0.isEnd } }
}

extension MessageEvent {
  var text: String? {
    if case .message(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
  }

  var isEnd: Bool { if case .closed = self { true } else { false } }
}
