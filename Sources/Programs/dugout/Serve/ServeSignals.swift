// The signals of a server. A handler may call few functions, so it writes to a pipe, which a queue reads.

import Dispatch
import Foundation
import Synchronization

/// Receives signals from its creation on, for the rest of the process. A process has at most one.
final class ServeSignals: Sendable {
  enum Event: Sendable {
    case end, reload
  }

  /// The writing end of the pipe.
  private static let pipe = Atomic<Int32>(-1)

  private let queue = DispatchQueue(label: "dugout.serve.signals")
  private let isEnding = Atomic<Bool>(false)
  private let state: Mutex<(waiting: [Event], receive: (@Sendable (Event) -> Void)?)> = Mutex(([], nil))

  /// With `reloads`, SIGHUP is the event `reload`. Without, it is `end`, unless the parent process ignores
  /// it, as nohup does.
  init(reloads: Bool) {
    var ends: [Int32] = [-1, -1]
    precondition(Foundation.pipe(&ends) == 0, "a process can open a pipe when it starts")
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    Self.pipe.store(ends[1], ordering: .sequentiallyConsistent)
    let input = ends[0]
    let source = DispatchSource.makeReadSource(fileDescriptor: input, queue: queue)
    // The source keeps this object, and is never cancelled, so it stays for the rest of the process.
    source.setEventHandler { [self] in
      read(input, reloads: reloads)
      _ = source
    }
    source.activate()
    for number in [SIGTERM, SIGINT] { Self.handle(number) }
    if reloads || !Self.isIgnored(SIGHUP) { Self.handle(SIGHUP) }
    // A client or a pipe that goes away is an error of a call, and no reason to end.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Whether the process was asked to end.
  var isSignaled: Bool { isEnding.load(ordering: .relaxed) }

  /// Calls `body` on a queue for each event, also for those that came before.
  func receive(_ body: @escaping @Sendable (Event) -> Void) {
    queue.async { [self] in
      let waiting = state.withLock { state in
        state.receive = body
        defer { state.waiting = [] }
        return state.waiting
      }
      for event in waiting { body(event) }
    }
  }

  private func read(_ input: Int32, reloads: Bool) {
    var numbers = [UInt8](repeating: 0, count: 64)
    let count = Foundation.read(input, &numbers, numbers.count)
    for number in numbers.prefix(max(0, count)) {
      let event: Event = reloads && Int32(number) == SIGHUP ? .reload : .end
      if event == .end {
        // The second Ctrl-C ends the process at once.
        signal(SIGINT, SIG_DFL)
        let isSecond = isEnding.exchange(true, ordering: .relaxed)
        if isSecond, Int32(number) == SIGINT { kill(getpid(), SIGINT) }
      }
      let body = state.withLock { state in
        if state.receive == nil { state.waiting.append(event) }
        return state.receive
      }
      body?(event)
    }
  }

  private static func handle(_ number: Int32) {
    signal(number) { number in
      let code = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = Foundation.write(ServeSignals.pipe.load(ordering: .relaxed), &byte, 1)
      errno = code
    }
  }

  /// Whether the parent process has set the signal to be ignored.
  static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    // The handler is the first member of the structure; the member's name differs between systems.
    let handler = withUnsafeBytes(of: &action) { $0.load(as: Int.self) }
    return handler == unsafeBitCast(SIG_IGN as (@convention(c) (Int32) -> Void)?, to: Int.self)
  }
}
