// Answers from a remote: answers that arrive late or twice, and answers that never arrive.

import ByteStore
import Foundation
import OfflineSync
import Testing

@testable import FirebaseFirestore

struct RemoteReplyTests {
  private final class Heard: Sendable {
    let answers = Locked<[Result<Int, RemoteError>]>([])

    func note(_ answer: Result<Int, RemoteError>) {
      answers.withLock { $0.append(answer) }
      answers.wakeAll()
    }

    var first: Result<Int, RemoteError>? { answers.withLock(when: { !$0.isEmpty }) { $0.first } }
    var count: Int { answers.withLock { $0.count } }
  }

  @Test func onlyTheFirstRemoteReplyCounts() {
    let heard = Heard()
    let answer = RemoteReply<Int> { heard.note($0) }
    answer.take(.success(1))
    answer.take(.success(2))
    answer.take(.failure(RemoteError(.unknown)))
    #expect(heard.count == 1 && heard.first == .success(1))
  }

  @Test func aMissingReplyIsAFailure() {
    let heard = Heard()
    // The test does not keep a reference to the answer, but the answer still times out.
    _ = RemoteReply<Int>(within: 0.01) { heard.note($0) }
    guard case .failure(let error)? = heard.first else {
      Issue.record("an answer out of nothing")
      return
    }
    #expect(error.code == .deadlineExceeded)
  }

  /// Callers that wait for an answer may occupy all threads of the pool.
  @Test func theTimeoutFiresWhileAllThreadsWait() {
    let resume = DispatchSemaphore(value: 0)
    for _ in 0..<400 { DispatchQueue.global().async { resume.wait() } }
    defer { for _ in 0..<400 { resume.signal() } }
    let hasTimedOut = DispatchSemaphore(value: 0)
    _ = RemoteReply<Int>(within: 0.01) { _ in hasTimedOut.signal() }
    #expect(hasTimedOut.wait(timeout: .now() + 10) == .success)
  }

  @Test func endingTheTimeLimitEndsTheRequestAndTheRetryPause() {
    let heard = Heard()
    let limit = RemoteTimeLimit(seconds: 600, each: 600)
    let answer = RemoteReply<Int>(limit) { heard.note($0) }
    limit.end(with: PendingRequests.terminated)
    #expect(heard.first == .failure(PendingRequests.terminated))
    #expect(!limit.pause(600) && limit.isOver && limit.secondsForOne == 0)
    answer.take(.success(1))
    #expect(heard.count == 1)
    let late = Heard()
    let never = RemoteReply<Int>(limit) { late.note($0) }
    #expect(late.first == .failure(PendingRequests.terminated))
    never.take(.success(1))
    #expect(late.count == 1)
  }

  @Test func aLateReplyIsIgnored() {
    let heard = Heard()
    let answer = RemoteReply<Int>(within: 0.001) { heard.note($0) }
    _ = heard.first
    answer.take(.success(1))
    #expect(heard.count == 1)
  }
}
