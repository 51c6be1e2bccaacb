// The thread on which libcurl performs the requests of a transport.

#if !canImport(Darwin)
internal import ByteStore
internal import CCurl
internal import Dispatch
internal import Foundation

/// Performs exchanges, from the first one until `stop`. Usable from any thread.
final class CurlLoop: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `mailbox` is locked, and the thread alone uses the rest.
  private enum Command {
    case begin(CurlExchange)
    case cancel(CurlExchange)
    case resume(CurlExchange)
  }

  @safe private struct Mailbox {
    var commands: [Command] = []
    var isStopped = false
    /// Whether the thread ends when it has no exchange.
    var endsWhenIdle = false
    var hasThread = false
    /// The transfers of the thread, which others only wake.
    var group: UnsafeMutableRawPointer?

    var hasEnded: Bool { endsWhenIdle && !hasThread }
  }

  private static let connectionsMax = 32
  private static let stackBytes = 512 * 1024
  private static let waitMilliseconds: Int32 = 60_000

  private let mailbox = Locked(Mailbox())
  private var exchanges: [ObjectIdentifier: CurlExchange] = [:]

  func begin(_ exchange: CurlExchange) { post(.begin(exchange)) }

  func cancel(_ exchange: CurlExchange) { post(.cancel(exchange)) }

  func resume(_ exchange: CurlExchange) { post(.resume(exchange)) }

  /// Ends all exchanges.
  func stop() {
    mailbox.withLock { mailbox in
      mailbox.isStopped = true
      if let group = unsafe mailbox.group { unsafe dugout_curl_wake(group) }
    }
  }

  /// Ends the thread and closes the connections when all exchanges have ended. No exchange begins after this
  /// call.
  func endWhenIdle() {
    mailbox.withLock { mailbox in
      mailbox.endsWhenIdle = true
      if let group = unsafe mailbox.group { unsafe dugout_curl_wake(group) }
    }
  }

  /// Whether the loop has nothing left to do after `endWhenIdle`.
  var hasEnded: Bool { mailbox.withLock { $0.hasEnded } }

  private func post(_ command: Command) {
    let needsThread = mailbox.withLock { mailbox in
      guard !mailbox.isStopped, !mailbox.hasEnded else { return false }
      mailbox.commands.append(command)
      // The group exists while the thread runs, and ends under this lock.
      if let group = unsafe mailbox.group { unsafe dugout_curl_wake(group) }
      defer { mailbox.hasThread = true }
      return !mailbox.hasThread
    }
    guard needsThread else { return }
    let thread = Thread { [self] in run() }
    thread.name = "dugout.curl"
    thread.stackSize = Self.stackBytes
    thread.start()
  }

  // MARK: On the thread

  private func run() {
    dugout_curl_block_pipe_signal()
    if let failure = unsafe dugout_curl_load() {
      return refuseAll(WebFailure(unsafe String(cString: failure), isUnsent: true))
    }
    guard let group = unsafe dugout_curl_group_create(Self.connectionsMax) else {
      return refuseAll(WebFailure("There is no memory for connections.", isUnsent: true))
    }
    mailbox.withLock { unsafe $0.group = unsafe group }
    while let commands = takeCommands() {
      for command in commands { unsafe perform(command, in: group) }
      unsafe dugout_curl_perform(group)
      unsafe endCompleted(in: group)
      let milliseconds = unsafe endSilent(in: group)
      if mailbox.withLock({ $0.commands.isEmpty && !$0.isStopped }) {
        unsafe dugout_curl_wait(group, milliseconds)
      }
    }
    for exchange in exchanges.values { unsafe exchange.end(Self.stopped, in: group) }
    exchanges = [:]
    endWaiting(Self.stopped)
    mailbox.withLock { unsafe $0.group = nil }
    unsafe dugout_curl_group_destroy(group)
  }

  private static let stopped = WebFailure("The connections were closed.")

  /// Ends the exchanges that have not begun.
  private func endWaiting(_ failure: WebFailure) {
    let commands = mailbox.withLock { mailbox in
      defer { mailbox.commands = [] }
      return mailbox.commands
    }
    for case .begin(let exchange) in commands { unsafe exchange.end(failure, in: nil) }
  }

  /// Ends all exchanges without a library.
  private func refuseAll(_ failure: WebFailure) {
    while true {
      endWaiting(failure)
      let isIdle = mailbox.withLock { mailbox in
        guard mailbox.commands.isEmpty else { return false }
        mailbox.hasThread = false
        return true
      }
      if isIdle { return }
    }
  }

  /// Nil at the end of the thread.
  private func takeCommands() -> [Command]? {
    let isIdle = exchanges.isEmpty
    return mailbox.withLock { mailbox in
      guard !mailbox.isStopped else { return nil }
      if mailbox.endsWhenIdle, isIdle, mailbox.commands.isEmpty {
        mailbox.hasThread = false
        return nil
      }
      defer { mailbox.commands = [] }
      return mailbox.commands
    }
  }

  private func perform(_ command: Command, in group: UnsafeMutableRawPointer) {
    switch command {
    case .begin(let exchange):
      if let failure = unsafe exchange.start(in: group) {
        unsafe exchange.end(failure, in: group)
      } else {
        exchanges[ObjectIdentifier(exchange)] = exchange
      }
    case .cancel(let exchange):
      guard exchanges.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return }
      unsafe exchange.end(nil, in: group)
    case .resume(let exchange):
      guard exchanges[ObjectIdentifier(exchange)] != nil else { return }
      let code = exchange.resume()
      guard code != 0 else { return }
      exchanges[ObjectIdentifier(exchange)] = nil
      unsafe exchange.complete(code: code, in: group)
    }
  }

  private func endCompleted(in group: UnsafeMutableRawPointer) {
    var code: Int32 = 0
    while let context = unsafe dugout_curl_next_ended(group, &code) {
      let exchange = unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue()
      exchanges[ObjectIdentifier(exchange)] = nil
      unsafe exchange.complete(code: code, in: group)
    }
  }

  /// Ends the exchanges that have been silent for too long. Returns the time until the next one may be.
  private func endSilent(in group: UnsafeMutableRawPointer) -> Int32 {
    let now = DispatchTime.now().uptimeNanoseconds
    var next = UInt64.max
    for (id, exchange) in exchanges {
      let deadline = exchange.deadline(at: now)
      if deadline <= now {
        exchanges[id] = nil
        unsafe exchange.endSilent(in: group)
      } else {
        next = min(next, deadline - now)
      }
    }
    return min(Self.waitMilliseconds, Int32(clamping: next / 1_000_000 + 1))
  }
}
#endif
