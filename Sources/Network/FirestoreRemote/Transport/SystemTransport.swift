// The transport of this system.

package import HTTPClient

#if canImport(Darwin)
internal import URLSessionClient
#endif

package enum SystemTransport {
  /// Makes a transport to a host, with a port or without. No connection is made before the first request.
  package static func make(host: String, isTLS: Bool) -> any WebTransport {
    #if canImport(Darwin)
    URLSessionTransport(host: host, isTLS: isTLS)
    #else
    CurlTransport(host: host, isTLS: isTLS)
    #endif
  }
}
