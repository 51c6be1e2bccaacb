// The client's side of a session without a socket.

import ByteStore
package import HTTPTransport

/// Passes bytes to a session of HTTP/1.1, and takes its output.
package final class SessionPeer {
  package let loop = InlineLoop()
  package let pool = InlinePool()
  package let observer = RecordedObserver()
  package let session: HTTP1Session
  /// The error with which the session has ended.
  package private(set) var error: SessionError?
  /// All output that was taken.
  package private(set) var output: [UInt8] = []

  package init(_ handler: any HTTPHandler, _ limits: HTTPLimits = HTTPLimits()) {
    var services = SessionServices(handler: handler, loop: loop, pool: pool, observer: observer)
    services.limits = limits
    let connection = ConnectionInfo(number: 1, peer: "127.0.0.1", isLoopback: true, version: 1)
    session = HTTP1Session(SessionContext(connection, services, clock: loop.clock) {})
  }

  /// Sends bytes in one piece.
  package func send(_ bytes: some Sequence<UInt8>) {
    guard error == nil else { return }
    error = Array(bytes).withUnsafeBytes { bytes in
      do throws(SessionError) { try session.receive(bytes) } catch { return error }
      return nil
    }
  }

  package func send(_ text: String) { send(text.utf8) }

  /// Takes output until there is none, and runs the blocks of loop and pool.
  package func takeAll() {
    repeat {
      runBlocks()
      take()
      runBlocks()
    } while session.hasOutput
  }

  private func runBlocks() {
    loop.run()
    pool.runBlocks(beside: loop)
    loop.run()
  }

  /// Takes output once.
  package func take(bytesMax: Int = .max) { session.moveOutput(to: &output, bytesMax: bytesMax) }

  /// Lets time pass, as a connection does.
  package func wait(seconds: Int) {
    for _ in 0..<seconds where error == nil {
      loop.advance(seconds: 1)
      do throws(SessionError) { try session.tick(now: loop.clock.now()) } catch { self.error = error }
    }
  }

  /// The output as text, without the field `date`.
  package var text: String {
    String(decoding: output, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("date: ") }.joined(separator: "\r\n")
  }
}

/// Keeps the refusals of which an observer is notified.
package final class RecordedObserver: TransportObserver {
  private let refused = Locked<[Refusal]>([])

  package init() {}

  package var refusals: [Refusal] { refused.withLock { $0 } }

  package func connectionOpened(_ connection: ConnectionInfo) {}
  package func connectionClosed(_ connection: ConnectionInfo) {}

  package func refused(_ refusal: Refusal, _ connection: ConnectionInfo, detail: String) {
    refused.withLock { $0.append(refusal) }
  }
}
