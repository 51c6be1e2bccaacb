// What signals do to a command, tried on two that nobody else uses.

import Foundation
import Testing

@testable import dugout

/// Signals are those of the whole process.
@Suite(.serialized) struct InterruptionTests {
  private typealias Handler = @convention(c) (Int32) -> Void

  private enum Disposition { case ignored, standard, other }

  private func disposition(_ number: Int32) -> Disposition {
    var action = sigaction()
    #expect(sigaction(number, nil, &action) == 0)
    let bits = withUnsafeBytes(of: &action) { $0.load(as: Int.self) }
    // A pointer to a C function is one word, as an `Int` is.
    return bits == unsafeBitCast(SIG_IGN as Handler?, to: Int.self)
      ? .ignored : bits == 0 ? .standard : .other
  }

  /// To this thread, which may be one that hears none of itself.
  private func send(_ number: Int32) {
    var own = sigset_t()
    var before = sigset_t()
    sigemptyset(&own)
    sigaddset(&own, number)
    pthread_sigmask(SIG_UNBLOCK, &own, &before)
    raise(number)
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }

  @Test func aSignalIsRecordedAndItsHandlerRestored() {
    signal(SIGUSR1, SIG_DFL)
    var interruption: Interruption? = Interruption(by: [SIGUSR1])
    #expect(interruption?.isSignaled == false && disposition(SIGUSR1) == .other)
    send(SIGUSR1)
    #expect(interruption?.isSignaled == true)
    // For who waits, no further one does more.
    #expect(disposition(SIGUSR1) == .other)
    interruption = nil
    #expect(disposition(SIGUSR1) == .standard)
  }

  /// The story: under nohup, and in the background of a script, a signal that was to be ignored ended an export.
  @Test func signalsIgnoredByTheParentStayIgnored() {
    signal(SIGUSR1, SIG_IGN)
    signal(SIGUSR2, SIG_DFL)
    defer { signal(SIGUSR1, SIG_DFL) }
    var interruption: Interruption? = Interruption(by: [SIGUSR1, SIGUSR2], waits: false)
    send(SIGUSR1)
    #expect(interruption?.isSignaled == false && disposition(SIGUSR1) == .ignored)
    send(SIGUSR2)
    #expect(interruption?.isSignaled == true && disposition(SIGUSR1) == .ignored)
    interruption = nil
    #expect(disposition(SIGUSR1) == .ignored && disposition(SIGUSR2) == .standard)
  }

  /// The story: a second one, of other signals, made the first forget what had come, and heard of it itself.
  @Test func interruptionsOfDifferentSignalsAreIndependent() {
    signal(SIGUSR1, SIG_DFL)
    signal(SIGUSR2, SIG_DFL)
    let first = Interruption(by: [SIGUSR1], waits: false)
    var second: Interruption? = Interruption(by: [SIGUSR2])
    withExtendedLifetime(first) {
      send(SIGUSR2)
      #expect(second?.isSignaled == true && !first.isSignaled)
      // Only what the first one has is ended by a further signal.
      #expect(disposition(SIGUSR1) == .other && disposition(SIGUSR2) == .other)
      second = nil
      second = Interruption(by: [SIGUSR2])
      #expect(second?.isSignaled == false)
      send(SIGUSR1)
      #expect(first.isSignaled && second?.isSignaled == false)
      #expect(disposition(SIGUSR1) == .standard && disposition(SIGUSR2) == .other)
      second = nil
      #expect(first.isSignaled)
    }
  }

  /// The story: Ctrl-C and then a SIGTERM were two first signals, and the command went on.
  @Test func aSecondSignalOfAnotherKindEndsTheProcess() {
    signal(SIGUSR1, SIG_DFL)
    signal(SIGUSR2, SIG_DFL)
    let interruption = Interruption(by: [SIGUSR1, SIGUSR2], waits: false)
    #expect(disposition(SIGUSR1) == .other && disposition(SIGUSR2) == .other)
    withExtendedLifetime(interruption) {
      send(SIGUSR1)
      #expect(interruption.isSignaled)
      #expect(disposition(SIGUSR1) == .standard && disposition(SIGUSR2) == .standard)
    }
  }
}
