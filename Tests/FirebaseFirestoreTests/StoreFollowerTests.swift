// When a read-only store is refreshed, with timers that the tests fire.

import ByteStore
import Dispatch
import Testing

@testable import FirebaseFirestore

@Suite(.timeLimit(.minutes(1))) struct StoreFollowerTests {
  /// A timer that was started, and does nothing until it is fired.
  private struct StartedTimer: Sendable {
    let seconds: Double
    /// Runs the timer's function on the queue of the follower.
    let fire: @Sendable () -> Void
  }

  /// A follower that tells of its refreshes and timers in the order in which they come.
  private struct Watched {
    private enum Event: Sendable {
      case refreshed
      case started(StartedTimer)
    }

    private struct Missing: Error {
      let what: String
    }

    let follower: StoreFollower
    private var events: AsyncStream<Event>.AsyncIterator
    private let count = Locked(0)

    init(
      every seconds: Double, while isNeeded: @escaping @Sendable () -> Bool = { true },
      refresh: @escaping @Sendable () -> Bool = { true }
    ) {
      let (events, event) = AsyncStream.makeStream(of: Event.self)
      let count = count
      follower = StoreFollower(
        every: seconds, while: isNeeded,
        timer: { queue, seconds, body in
          event.yield(.started(StartedTimer(seconds: seconds) { queue.async { body() } }))
        },
        refresh: {
          defer { event.yield(.refreshed) }
          count.withLock { $0 += 1 }
          return refresh()
        })
      self.events = events.makeAsyncIterator()
    }

    /// The number of refreshes so far.
    var refreshes: Int { count.withLock { $0 } }

    /// Waits for a refresh and for the timer after it, with nothing in between.
    mutating func waitForTurn() async throws -> StartedTimer {
      try await waitForRefresh()
      guard case .started(let timer) = await events.next() else { throw Missing(what: "a timer") }
      return timer
    }

    /// Waits for a refresh, which must come before the next timer.
    mutating func waitForRefresh() async throws {
      guard case .refreshed = await events.next() else { throw Missing(what: "a refresh") }
    }
  }

  @Test func aTurnFollowsEachTimerWhileItIsNeeded() async throws {
    let (questions, question) = AsyncStream.makeStream(of: Void.self)
    let isNeeded = Locked(true)
    var watched = Watched(
      every: 0.25,
      while: {
        defer { question.yield() }
        return isNeeded.withLock { $0 }
      })
    watched.follower.begin()
    for _ in 0..<3 {
      let timer = try await watched.waitForTurn()
      #expect(timer.seconds == 0.25)
      timer.fire()
    }
    let last = try await watched.waitForTurn()
    isNeeded.withLock { $0 = false }
    last.fire()
    var asked = questions.makeAsyncIterator()
    for _ in 0..<5 { _ = await asked.next() }
    isNeeded.withLock { $0 = true }
    watched.follower.begin()
    _ = try await watched.waitForTurn()
    #expect(watched.refreshes == 5, "the turn without a listener ended the following")
    watched.follower.stop()
  }

  /// Without this, the first refresh for a new listener would come after the whole interval.
  @Test func aNewListenerDoesNotWaitForTheTimer() async throws {
    var watched = Watched(every: 3600)
    watched.follower.begin()
    let first = try await watched.waitForTurn()
    watched.follower.begin()
    let second = try await watched.waitForTurn()
    first.fire()
    second.fire()
    let third = try await watched.waitForTurn()
    second.fire()
    third.fire()
    _ = try await watched.waitForTurn()
    #expect(watched.refreshes == 4, "a timer that was replaced does nothing")
    watched.follower.stop()
  }

  @Test func listenersThatComeTogetherShareARefresh() async throws {
    let mayRefresh = DispatchSemaphore(value: 0)
    let (beginnings, beginning) = AsyncStream.makeStream(of: Void.self)
    var watched = Watched(
      every: 3600,
      refresh: {
        beginning.yield()
        mayRefresh.wait()
        return true
      })
    watched.follower.begin()
    var begun = beginnings.makeAsyncIterator()
    _ = await begun.next()
    // These listeners are too late for the refresh that is running.
    for _ in 0..<3 { watched.follower.begin() }
    for _ in 0..<4 { mayRefresh.signal() }
    try await watched.waitForRefresh()
    _ = try await watched.waitForTurn()
    #expect(watched.refreshes == 2)
    watched.follower.stop()
  }

  @Test func eachFailureDoublesTheTimeToTheNextTurn() async throws {
    let succeeds = Locked(false)
    var watched = Watched(every: 0.25, refresh: { succeeds.withLock { $0 } })
    watched.follower.begin()
    var times: [Double] = []
    for turn in 0..<12 {
      let timer = try await watched.waitForTurn()
      times.append(timer.seconds)
      // The turns 9 and 10 succeed.
      succeeds.withLock { $0 = turn == 8 || turn == 9 }
      timer.fire()
    }
    #expect(times == [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 0.25, 0.25, 0.5])
    watched.follower.stop()
  }

  @Test func aLongIntervalStaysTheSameAfterFailures() async throws {
    var watched = Watched(every: 3600, refresh: { false })
    watched.follower.begin()
    for _ in 0..<3 {
      let timer = try await watched.waitForTurn()
      #expect(timer.seconds == 3600)
      timer.fire()
    }
    watched.follower.stop()
  }

  /// A listener that is added while refreshes fail tries at once, and does not shorten the time after that.
  @Test func aNewListenerTriesAtOnceAfterFailures() async throws {
    var watched = Watched(every: 1, refresh: { false })
    watched.follower.begin()
    let first = try await watched.waitForTurn()
    watched.follower.begin()
    let second = try await watched.waitForTurn()
    #expect([first.seconds, second.seconds] == [2, 4])
    watched.follower.stop()
  }

  @Test func aStoppedFollowerDoesNotBeginAgain() async throws {
    var watched = Watched(every: 1)
    watched.follower.begin()
    let timer = try await watched.waitForTurn()
    watched.follower.stop()
    watched.follower.begin()
    timer.fire()
    // Waits for everything on the queue.
    watched.follower.stop()
    #expect(watched.refreshes == 1)
  }
}
