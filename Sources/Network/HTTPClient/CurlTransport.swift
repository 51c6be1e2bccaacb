// Requests of HTTP by the system's libcurl.
//
// FoundationNetworking, whose URLSession stands on libcurl too, ends the process when an answer is cut within
// its head. It also adds 12 milliseconds and 11 megabytes to the start of each program that is linked with
// it.
//
//   1. One thread performs all requests of a transport. It begins with the first one.
//   2. A request ends after a time without a byte in either direction.
//   3. A request whose body was sent is never sent again. Connections are kept and used again, so a request
//      may meet one that the server has just closed. libcurl repeats it then, unless a part of the body is
//      gone.
//
// The library keeps no cookies and no answers, and follows no redirects.

#if !canImport(Darwin)
/// A transport to one host.
package final class CurlTransport: WebTransport {
  private let origin: String
  private let loop = CurlLoop()

  /// Creates a transport to a host, which is a name or an address, with a port or without. An address of
  /// IPv6 is in brackets.
  package init(host: String, isTLS: Bool) { origin = "\(isTLS ? "https" : "http")://\(host)" }

  deinit { loop.stop() }

  package func begin(
    _ request: WebRequest, _ handler: @escaping @Sendable (WebEvent) -> Void
  ) -> any WebExchange {
    let exchange = CurlExchange(request, origin: origin, handler) { [loop] in loop.cancel($0) }
    loop.begin(exchange)
    return exchange
  }
}
#endif
