// Requests in the order of their numbers.

import Testing

@testable import FirestoreServer

/// A line of requests by their numbers.
private final class Requests {
  var line: ForwardLine
  var limits = ChannelLimits()

  init(next: UInt64) { line = ForwardLine(next: next) }

  func take(_ numbers: UInt64...) -> [[UInt8]]? {
    line.take(numbers.map { FormBody.Request(number: $0, message: [UInt8($0)]) }, limits)
  }

  func take(_ number: UInt64, bytes: Int) -> Int? {
    let message = [UInt8](repeating: 0, count: bytes)
    return line.take([FormBody.Request(number: number, message: message)], limits)?.count
  }
}

@Suite struct ForwardLineTests {
  @Test func repeatedRequestsAreTakenOnce() {
    let requests = Requests(next: 0)
    #expect(requests.take(0, 1) == [[0], [1]])
    #expect(requests.take(0, 1) == [])
    #expect(requests.take(1, 2) == [[2]])
    #expect(requests.line.next == 3)
  }

  @Test func earlyRequestsWait() {
    let requests = Requests(next: 4)
    #expect(requests.take(6, 8) == [])
    #expect(requests.line.earlyBytes == 2)
    #expect(requests.take(5, 6) == [])
    #expect(requests.take(4) == [[4], [5], [6]])
    #expect(requests.take(7, 8) == [[7], [8]])
    #expect(requests.line.earlyBytes == 0)
    #expect(requests.line.earlyCount == 0)
    #expect(requests.line.next == 9)
  }

  @Test func tooManyEarlyRequestsAreRefusedWhole() {
    let requests = Requests(next: 0)
    requests.limits.earlyRequestsMax = 2
    #expect(requests.take(2, 3) == [])
    #expect(requests.take(0, 5) == nil)
    #expect(requests.line.next == 0)
    #expect(requests.line.earlyCount == 2)
    // Those that are there already need no room.
    #expect(requests.take(0, 2, 3) == [[0]])
    #expect(requests.take(1) == [[1], [2], [3]])
    requests.limits.earlyBytesMax = 3
    #expect(requests.take(9, bytes: 4) == nil)
    #expect(requests.take(4, bytes: 4) == 1)
  }
}
