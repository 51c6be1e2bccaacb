// Requests of HTTP by the system's libcurl.
//
// FoundationNetworking, whose URLSession stands on libcurl too, ends the process when an answer is cut within
// its head. It also adds 12 milliseconds and 11 megabytes to the start of each program that is linked with
// it.
//
//   1. One thread performs all requests of a transport. It begins with the first one.
//   2. A request ends after a time without a byte in either direction. The head of its answer has twice that
//      time.
//   3. A request whose body was sent is never sent again. Connections are kept and used again, so a request
//      may meet one that the server has just closed. libcurl repeats it then, unless a part of the body is
//      gone.
//   4. A request whose receiver does not take the bytes of its answer reads no more of its connection, and is
//      not silent. Over HTTP/2, the connection is read for its other requests. libcurl then keeps up to a
//      stream's window of the paused answer, which is 10 or 32 MiB.
//   5. Requests go through the proxy that variables of the environment name, except those to this machine.
//
// The library keeps no cookies and no answers, and follows no redirects.

#if !canImport(Darwin)
internal import ByteStore

/// A transport to one host.
package final class CurlTransport: WebTransport {
  private let origin: String
  /// The loop of new requests is the last one. The others end with their requests.
  private let loops = Locked([CurlLoop()])

  /// Creates a transport to a host, which is a name or an address, with a port or without. An address of
  /// IPv6 is in brackets.
  package init(host: String, isTLS: Bool) { origin = "\(isTLS ? "https" : "http")://\(host)" }

  deinit { for loop in loops.withLock({ $0 }) { loop.stop() } }

  package func begin(
    _ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void
  ) -> any WebExchange {
    loops.withLock { loops in
      let loop = loops[loops.count - 1]
      let exchange = CurlExchange(
        request, origin: origin, handler, cancelled: { loop.cancel($0) }, resumed: { loop.resume($0) })
      loop.begin(exchange)
      return exchange
    }
  }

  package func renewConnections() {
    loops.withLock { loops in
      for loop in loops { loop.endWhenIdle() }
      loops.removeAll(where: \.hasEnded)
      loops.append(CurlLoop())
    }
  }
}
#endif
