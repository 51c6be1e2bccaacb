// The events on a simulated network, as a hash, and as text if that is wanted.

package struct NetworkTrace: Sendable {
  enum Event: String {
    case connect, listen, accept, receive, send, shutdown, spare, close
    case wait, add, change, ready, wake
    case turn, clientSends, clientReads, clientEnds, pool
    case begin, body, finish, cancel, refused, opened, closed
  }

  /// A hash of all events.
  package private(set) var hash: UInt64 = 0
  /// The events, one on a line.
  package private(set) var lines: [String] = []
  var isRecorded = false

  mutating func add(_ event: Event, at time: UInt64, descriptor: Int, value: Int) {
    for byte in event.rawValue.utf8 { mix(UInt64(byte)) }
    mix(time)
    mix(UInt64(bitPattern: Int64(descriptor)))
    mix(UInt64(bitPattern: Int64(value)))
    guard isRecorded else { return }
    lines.append("\(time / 1000) us: \(event.rawValue) \(descriptor) \(value)")
  }

  private mutating func mix(_ word: UInt64) {
    hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
    hash ^= hash >> 29
  }
}
