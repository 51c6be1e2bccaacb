// The answers to requests of WebChannel.

import HTTPClient
import OfflineSync

/// One request, and the answer that the peer gives.
final class PeerExchange: WebExchange, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: one thread runs the client and the scenario.
  private let scheduler: any SyncScheduler
  private var handler: (@Sendable (WebEvent) -> Void)?

  init(_ scheduler: any SyncScheduler, _ handler: @escaping @Sendable (WebEvent) -> Void) {
    self.scheduler = scheduler
    self.handler = handler
  }

  func cancel() { handler = nil }

  // MARK: The peer's side

  /// Whether the client still waits for the answer.
  var isAwaited: Bool { handler != nil }

  func answer(status: Int = 200, fields: [String: String] = [:], _ text: String) {
    begin(status: status, fields: fields)
    send(text)
    end()
  }

  func begin(status: Int = 200, fields: [String: String] = [:]) {
    deliver(.head(status: status, fields: fields))
  }

  /// Sends a text in two parts, which may cut a character.
  func send(_ text: String) {
    let bytes = Array(text.utf8)
    for part in [bytes[..<(bytes.count / 2)], bytes[(bytes.count / 2)...]] where !part.isEmpty {
      deliver(.bytes(Array(part)))
    }
  }

  func end() { deliver(.ended(nil)) }

  private func deliver(_ event: WebEvent) {
    scheduler.run { [self] in
      let handler = handler
      if case .ended = event { self.handler = nil }
      handler?(event)
    }
  }
}
