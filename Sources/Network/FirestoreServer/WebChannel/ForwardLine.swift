// The requests of a client in the order of their numbers.
//
// A client sends a body again if it has not seen the answer, so numbers repeat. Over HTTP/2 it sends several
// bodies at once, so a later one can arrive first.

/// Brings requests into order. Each number is taken once.
struct ForwardLine {
  /// The number of the next request.
  private(set) var next: UInt64
  private var early: [UInt64: [UInt8]] = [:]
  /// The bytes of the requests that wait for earlier ones.
  private(set) var earlyBytes = 0

  init(next: UInt64) { self.next = next }

  var earlyCount: Int { early.count }

  /// Takes the requests of a body, which are in order, and returns those whose turn it is. Returns nil, and
  /// takes none, if too many would have to wait.
  mutating func take(_ requests: [FormBody.Request], _ limits: ChannelLimits) -> [[UInt8]]? {
    guard hasRoom(for: requests, limits) else { return nil }
    var ready: [[UInt8]] = []
    for request in requests where request.number >= next {
      if request.number == next {
        // A request with this number may have arrived before its time.
        removeEarly(next)
        ready.append(request.message)
        next += 1
        while let message = removeEarly(next) {
          ready.append(message)
          next += 1
        }
      } else if early[request.number] == nil {
        early[request.number] = request.message
        earlyBytes += request.message.count
      }
    }
    return ready
  }

  @discardableResult
  private mutating func removeEarly(_ number: UInt64) -> [UInt8]? {
    guard let message = early.removeValue(forKey: number) else { return nil }
    earlyBytes -= message.count
    return message
  }

  private func hasRoom(for requests: [FormBody.Request], _ limits: ChannelLimits) -> Bool {
    var reached = next
    var count = early.count
    var bytes = earlyBytes
    for request in requests where request.number >= next && early[request.number] == nil {
      while early[reached] != nil { reached += 1 }
      if request.number == reached {
        reached += 1
      } else {
        count += 1
        bytes += request.message.count
      }
    }
    return count == early.count || count <= limits.earlyRequestsMax && bytes <= limits.earlyBytesMax
  }
}
