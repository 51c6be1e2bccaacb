// Keeps web pages away: a page that a developer visits must not reach a server on the developer's machine.
//
//   - A page of another origin cannot send requests here, because its browser names the origin in `Origin`.
//   - A page cannot pretend to have our origin by a name that it resolves to our address (DNS rebinding),
//     because its browser then sends that name as the host.
//
// The check comes before anything else, for every request in every mode.

internal import HTTPTransport

/// Decides which hosts and origins of requests are accepted.
struct BrowserGuard: Sendable {
  /// The reason why a request is refused.
  struct Refusal: Error {
    let refusal: ServerRefusal
    let message: String
  }

  private let hosts: Set<HostName>
  private let origins: Set<WebOrigin>
  private let acceptsLoopback: Bool
  private let acceptsAnyAddress: Bool
  /// Hosts that are accepted without being parsed, because clients of this machine usually send them.
  private let usualHosts: [String]

  /// Creates the guard of a listener.
  init(
    _ configuration: ServerConfiguration, listeningOn address: IPAddress, isBehindProxy: Bool
  ) throws(ServerError) {
    var hosts: Set<HostName> = []
    for text in configuration.allowedHosts {
      guard let host = HostName(text) else { throw .invalidHost(text) }
      hosts.insert(host)
    }
    var origins: Set<WebOrigin> = []
    for text in configuration.allowedOrigins {
      guard let origin = WebOrigin(text) else { throw .invalidOrigin(text) }
      origins.insert(origin)
    }
    // A proxy passes on the names by which its clients know it. All others are not meant for this server.
    acceptsLoopback = !isBehindProxy
    // An address cannot be rebound. A server that listens on all of its addresses does not know them.
    acceptsAnyAddress = address.isAny && !isBehindProxy
    if !isBehindProxy { hosts.insert(.address(address)) }
    usualHosts = isBehindProxy ? [] : ["localhost", "127.0.0.1"].map { "\($0):\(configuration.port)" }
    self.hosts = hosts
    self.origins = origins
  }

  /// Throws unless the host and the origin of a request are accepted. Returns the origin as the client sent
  /// it; nil if there is none.
  func check(_ request: HTTPRequest) throws(Refusal) -> String? {
    try check(host: request.authority)
    if request.fields.bytes(of: "host") != nil {
      for host in request.fields.all("host") { try check(host: host) }
    }
    guard request.fields.bytes(of: "origin") != nil else { return nil }
    let values = request.fields.all("origin")
    let value = values[0]
    guard values.count == 1, let origin = WebOrigin(value), origin.isLoopback || origins.contains(origin)
    else {
      throw Refusal(
        refusal: .origin,
        message:
          "Pages of this origin may not call the server. Allow it with allowedOrigins (--allow-origin).")
    }
    return value
  }

  private func check(host text: String) throws(Refusal) {
    if usualHosts.contains(where: { text.utf8.elementsEqual($0.utf8) }) { return }
    guard let host = HostName(authority: text), accepts(host) else {
      throw Refusal(
        refusal: .host,
        message: "The server is not known by this host. Allow its name with allowedHosts (--allow-host).")
    }
  }

  private func accepts(_ host: HostName) -> Bool {
    if acceptsLoopback, host.isLoopback { return true }
    if acceptsAnyAddress, host.isAddress { return true }
    return hosts.contains(host)
  }
}
