// The effect of signals on a command. The tests use two signals that have no other use.

import Foundation
import Testing

@testable import dugout

/// The suite is serialized, because signal handlers belong to the whole process.
@Suite(.serialized) struct InterruptionTests {
  private typealias Handler = @convention(c) (Int32) -> Void

  private enum Disposition { case ignored, standard, other }

  private func disposition(_ number: Int32) -> Disposition {
    var action = sigaction()
    #expect(sigaction(number, nil, &action) == 0)
    let bits = withUnsafeBytes(of: &action) { $0.load(as: Int.self) }
    // A C function pointer has the size of an `Int`.
    return bits == unsafeBitCast(SIG_IGN as Handler?, to: Int.self)
      ? .ignored : bits == 0 ? .standard : .other
  }

  /// Sends the signal to this thread, after unblocking the signal.
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
    // With `waits`, the handler stays installed, so further signals have no effect.
    #expect(disposition(SIGUSR1) == .other)
    interruption = nil
    #expect(disposition(SIGUSR1) == .standard)
  }

  /// Regression: a parent process such as nohup or a script had set a signal to be ignored, but the signal
  /// ended an export.
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

  /// Regression: a second object for other signals cleared the signals recorded by the first object. The
  /// second object also received the first object's signals.
  @Test func interruptionsOfDifferentSignalsAreIndependent() {
    signal(SIGUSR1, SIG_DFL)
    signal(SIGUSR2, SIG_DFL)
    let first = Interruption(by: [SIGUSR1], waits: false)
    var second: Interruption? = Interruption(by: [SIGUSR2])
    withExtendedLifetime(first) {
      send(SIGUSR2)
      #expect(second?.isSignaled == true && !first.isSignaled)
      //  Only a second SIGUSR1 would end the process, because only the first object was created without
      //  `waits`.
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

  /// Regression: if SIGTERM followed Ctrl-C, both counted as first signals, and the command continued.
  @Test func aSecondDifferentSignalEndsTheProcess() {
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
