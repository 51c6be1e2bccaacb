// The thread of a client: it waits for its socket, and for blocks of other threads.

#if Server
import Foundation

/// Runs one connection. Blocks and handlers run on its thread. Usable from any thread.
final class ClientThread: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects `blocks` and `isStopped`, `wakeDescriptors` are
  // never replaced, and everything else is used on the thread alone.
  private let lock = NSLock()
  private var blocks: [@Sendable () -> Void] = []
  private var isStopped = false
  private let wakeDescriptors: (read: Int32, write: Int32)
  private let ended = DispatchSemaphore(value: 0)
  private let identity = ThreadIdentity()

  private let socket: ClientSocket
  private let cipher: (any ConnectionCipher)?
  private let session: ClientSession
  private var output: [UInt8] = []
  private var outputStart = 0

  init(_ socket: ClientSocket, _ session: ClientSession, _ cipher: (any ConnectionCipher)?) throws {
    self.socket = socket
    self.session = session
    self.cipher = cipher
    var descriptors: [Int32] = [0, 0]
    guard pipe(&descriptors) == 0 else { throw GRPCClientError("there are no more descriptors") }
    for descriptor in descriptors {
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }
    wakeDescriptors = (descriptors[0], descriptors[1])
  }

  deinit {
    close(wakeDescriptors.read)
    close(wakeDescriptors.write)
  }

  func start(named name: String) {
    let thread = Thread { [self] in run() }
    thread.name = name
    thread.start()
  }

  /// Runs a block on the thread: at once if this is the thread. Returns false if the thread has ended.
  @discardableResult
  func run(_ block: @escaping @Sendable () -> Void) -> Bool {
    if identity.isCurrent {
      block()
      return true
    }
    lock.lock()
    defer { lock.unlock() }
    guard !isStopped else { return false }
    blocks.append(block)
    if blocks.count == 1 { wake() }
    return true
  }

  /// Closes the connection, and waits for the thread, unless this is the thread.
  func stop() {
    let isFirst = lock.withLock {
      defer { isStopped = true }
      return !isStopped
    }
    guard isFirst else { return }
    wake()
    if !identity.isCurrent { ended.wait() }
  }

  private func wake() {
    var byte: UInt8 = 0
    _ = write(wakeDescriptors.write, &byte, 1)
  }

  // MARK: On the thread

  private func run() {
    identity.set()
    var reason = "the client is closed"
    loop: while runBlocks() {
      session.expire()
      do {
        guard try sendOutput() else {
          reason = "the connection is lost"
          break loop
        }
        wait()
        guard try receiveInput() else {
          reason = "the connection is lost"
          break loop
        }
      } catch {
        reason = "\(error)"
        break loop
      }
      guard session.isOpen else {
        reason = "the server has closed the connection"
        break loop
      }
    }
    end(reason)
  }

  private func end(_ reason: String) {
    lock.withLock { isStopped = true }
    // Blocks that came before the end begin calls, which then end with the connection.
    _ = runBlocks()
    session.end(reason)
    identity.clear()
    ended.signal()
  }

  /// Returns false after the end.
  private func runBlocks() -> Bool {
    let (due, isOpen) = lock.withLock {
      defer { blocks = [] }
      return (blocks, !isStopped)
    }
    for block in due { block() }
    return isOpen
  }

  private func wait() {
    let sends = outputStart < output.count
    var entries = [
      pollfd(fd: socket.descriptor, events: Int16(POLLIN | (sends ? POLLOUT : 0)), revents: 0),
      pollfd(fd: wakeDescriptors.read, events: Int16(POLLIN), revents: 0),
    ]
    poll(&entries, nfds_t(entries.count), session.millisecondsToDeadline)
    if entries[1].revents != 0 {
      var bytes = [UInt8](repeating: 0, count: 64)
      while read(wakeDescriptors.read, &bytes, bytes.count) > 0 {}
    }
  }

  /// Returns false if the connection is lost.
  private func sendOutput() throws -> Bool {
    while true {
      if outputStart == output.count {
        output = try session.takeOutput()
        outputStart = 0
        if let cipher {
          try cipher.send(output)
          output = cipher.takeOutput()
        }
        guard !output.isEmpty else { return true }
      }
      switch socket.write(output[outputStart...]) {
      case .bytes(let count):
        session.noteSent(bytes: count)
        outputStart += count
      case .later: return true
      case .lost: return false
      }
    }
  }

  private var buffer = [UInt8](repeating: 0, count: 1 << 16)

  /// Returns false if the connection is lost.
  private func receiveInput() throws -> Bool {
    while true {
      switch socket.read(into: &buffer) {
      case .bytes(let count):
        session.noteReceived(bytes: count)
        if let cipher {
          try session.receive(try cipher.receive(buffer[..<count])[...])
        } else {
          try session.receive(buffer[..<count])
        }
        if count < buffer.count { return true }
      case .later: return true
      case .lost: return false
      }
    }
  }
}

/// Knows whether the caller is on a certain thread.
private final class ThreadIdentity: @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: the lock protects the thread.
  private let lock = NSLock()
  private var thread: pthread_t?

  func set() { lock.withLock { thread = pthread_self() } }
  func clear() { lock.withLock { thread = nil } }

  var isCurrent: Bool {
    lock.withLock { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
  }
}
#endif
