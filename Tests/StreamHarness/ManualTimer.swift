// A timer that the test triggers.

package import Foundation
import StreamBaseKit

package final class ManualTimer: BatchTimer {
  package private(set) var delays: [TimeInterval] = []
  private var body: (() -> Void)?

  package init() {}

  package var isStarted: Bool { body != nil }

  package func start(_ delay: TimeInterval, _ body: @escaping () -> Void) {
    delays.append(delay)
    self.body = body
  }

  package func cancel() { body = nil }

  package func fire() {
    let body = body
    self.body = nil
    body?()
  }
}
