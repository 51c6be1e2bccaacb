// Children that hear signals, although they are started on a thread that does not.

import Foundation

extension Process {
  /// Starts the process with no signal blocked. A child inherits the mask of the thread that starts it, and
  /// the threads of tasks block most signals.
  func runWithoutBlockedSignals() throws {
    var none = sigset_t()
    var mask = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &mask)
    defer { pthread_sigmask(SIG_SETMASK, &mask, nil) }
    try run()
  }
}
