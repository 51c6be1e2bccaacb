// A forked copy of the test process.

#if os(Linux)
package import Libc

package enum ForkedChild {
  package enum Failure: Error {
    /// The system has no function `fork`.
    case unavailable
    /// No child ended in time.
    case timedOut
  }

  /// Returns the result of `body` in a child. Another test thread may hold a lock of the Swift runtime
  /// at the fork, for which the child would wait forever. An alarm ends such a child, and another one is
  /// forked.
  package static func result(of body: () -> Int32) throws -> Int32 {
    for _ in 0..<20 {
      if let status = wait(for: try start(body)) { return status }
    }
    throw Failure.timedOut
  }

  /// Forks a child that runs `body` and ends with its result. An alarm ends it after three seconds.
  package static func start(_ body: () -> Int32) throws -> pid_t {
    typealias Fork = @convention(c) () -> pid_t
    guard let symbol = dlsym(nil, "fork") else { throw Failure.unavailable }
    // Why the cast is correct: POSIX declares `pid_t fork(void)`. Swift only marks its import as unavailable.
    let fork = unsafeBitCast(symbol, to: Fork.self)
    let child = fork()
    guard child == 0 else { return child }
    // The test threads block signals.
    signal(SIGALRM, SIG_DFL)
    var alarms = sigset_t()
    sigemptyset(&alarms)
    sigaddset(&alarms, SIGALRM)
    pthread_sigmask(SIG_UNBLOCK, &alarms, nil)
    alarm(3)
    _exit(body())
  }

  /// Waits for a child. Returns its result, or nil if the alarm ended the child.
  package static func wait(for child: pid_t) -> Int32? {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return status & 0x7F == 0 ? status >> 8 & 0xFF : nil
  }
}
#endif
