// A thread that can be joined.

import Libc

package struct WorkerThread {
  private let thread: pthread_t

  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  package init(_ body: @escaping @Sendable () -> Void) {
    let argument = Unmanaged.passRetained(Body(body)).toOpaque()
    #if canImport(Darwin)
    var started: pthread_t?
    let result = pthread_create(&started, nil, { WorkerThread.run($0) }, argument)
    thread = started!
    #else
    var started = pthread_t()
    let result = pthread_create(&started, nil, { WorkerThread.run($0!) }, argument)
    thread = started
    #endif
    precondition(result == 0, "the system creates no more threads")
  }

  /// Detaches the thread, which will not be joined.
  package func detach() { pthread_detach(thread) }

  package func join() { pthread_join(thread, nil) }

  package static func yield() { sched_yield() }

  private static func run(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
    return nil
  }
}
