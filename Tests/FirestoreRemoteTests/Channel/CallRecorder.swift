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
  var texts: [String] { all.compactMap(\.text) }

  /// Waits for an event; returns false if there is none within half a minute.
  func waits(for condition: (MessageEvent) -> Bool) -> Bool {
    events.withLock(wokenBy: signal, within: 30_000_000_000, when: { $0.contains(where: condition) }) {
      $0.contains(where: condition)
    }
  }

  func waitsForText(_ part: String) -> Bool { waits { $0.text?.contains(part) == true } }
  func waitsForEnd() -> Bool { waits { $0.isEnd } }
}

extension MessageEvent {
  var text: String? {
    if case .message(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
  }

  var isEnd: Bool { if case .closed = self { true } else { false } }
}
