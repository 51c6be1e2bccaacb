// A session of HTTP/2 without a socket, and everything that it does.

#if Server
package import HTTPTransport

/// A session, its handler, and its output.
package final class FrameSession {
  package let loop = InlineLoop()
  package let pool = InlinePool()
  package let recorder = RequestRecorder()
  package let refusals = RefusalRecorder()
  package let session: HTTP2Session
  package private(set) var output: [UInt8] = []
  /// Whether the session read nothing more after a part of the input. After a client's
  /// GOAWAY this depends on the cuts, because requests behind it in one piece are still answered.
  package private(set) var hasFinished = false
  /// The error that has ended the session.
  package private(set) var error: SessionError?

  package init(limits: HTTPLimits = HTTPLimits()) throws(SessionError) {
    var services = SessionServices(
      handler: recorder, loop: loop, pool: pool, observer: refusals)
    services.limits = limits
    let info = ConnectionInfo(number: 1, peer: "127.0.0.1", isLoopback: true, version: 2)
    session = try HTTP2Session(SessionContext(info, services, clock: loop.clock) {})
  }

  /// Passes bytes to the session, and takes its output unless the turn of the loop goes on.
  package func receive(_ bytes: some Collection<UInt8>, endsTurn: Bool = true) {
    guard error == nil else { return }
    error = Array(bytes).withUnsafeBytes { bytes in
      do throws(SessionError) { try session.receive(bytes) } catch { return error }
      return nil
    }
    hasFinished = hasFinished || session.readsNoMore
    if endsTurn { turn() }
  }

  /// The end of a turn of the loop.
  package func turn() {
    session.endTurn()
    loop.run()
    pool.runBlocks(beside: loop)
    loop.run()
    while session.hasOutput {
      let count = output.count
      session.moveOutput(to: &output, bytesMax: output.count + 64 * 1024)
      if output.count == count { break }
    }
  }

  package func tick(afterSeconds seconds: Int) {
    loop.advance(seconds: seconds)
    do throws(SessionError) { try session.tick(now: loop.now) } catch { self.error = error }
    turn()
  }

  package var frames: [ReceivedFrame]? { ReceivedFrame.all(in: output) }
}
#endif
