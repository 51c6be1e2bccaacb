// The limits of the transport that follow from the configuration.

internal import HTTPTransport

extension ServerConfiguration {
  /// All clients of a proxy come from its address, so that address may have all connections.
  var limits: HTTPLimits {
    var limits = HTTPLimits()
    if isBehindProxy { limits.connectionsPerAddressMax = limits.connectionsMax }
    return limits
  }
}
