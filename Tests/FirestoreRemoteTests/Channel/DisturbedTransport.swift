// A transport with something on the way that changes answers.

import ByteStore
import FirestoreRemote
import HTTPClient

/// Passes requests on, and changes the answers of GET.
struct DisturbedTransport: WebTransport {
  enum Disturbance {
    /// Answers arrive when they are whole.
    case buffering
    /// The first three answers are lost after this number of bytes.
    case cut(after: Int)
  }

  private static let cutCount = 3

  let transport: any WebTransport
  let disturbance: Disturbance
  private let requestCount = Locked(0)

  init(_ transport: any WebTransport, _ disturbance: Disturbance) {
    self.transport = transport
    self.disturbance = disturbance
  }

  func begin(
    _ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void
  ) -> any WebExchange {
    guard request.method == "GET" else { return transport.begin(request, handler) }
    switch disturbance {
    case .buffering:
      let held = Locked<[WebEvent]>([])
      return transport.begin(request) { event in
        held.withLock { $0.append(event) }
        guard case .ended = event else { return }
        for event in held.withLock({ $0 }) { handler(event) }
      }
    case .cut(let count):
      let number = requestCount.withLock { count in
        count += 1
        return count
      }
      guard number <= Self.cutCount else { return transport.begin(request, handler) }
      // The bytes that are left; nil after the end.
      let left = Locked<Int?>(count)
      return transport.begin(request) { event in
        guard let room = left.withLock({ $0 }) else { return }
        switch event {
        case .bytes(let bytes) where bytes.count >= room:
          left.withLock { $0 = nil }
          if room > 0 { handler(.bytes(Array(bytes.prefix(room)))) }
          handler(.ended(WebFailure("cut")))
        case .bytes(let bytes):
          left.withLock { $0 = room - bytes.count }
          handler(event)
        default: handler(event)
        }
      }
    }
  }
}
