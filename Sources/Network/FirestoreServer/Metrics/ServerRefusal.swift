// Requests that the server itself refuses, besides those that the transport refuses.

/// A rule of the server that a request has not kept.
enum ServerRefusal: String, Sendable, CaseIterable {
  case host
  case origin
  case credentials
  case databaseName = "database_name"
  case databases
  case draining
  /// The open sessions of WebChannel.
  case channels
  /// The open sessions that one connection has opened.
  case connectionChannels = "connection_channels"
  /// The open sessions of one address.
  case addressChannels = "address_channels"
  /// A session without a back channel.
  case channelTimeout = "channel_timeout"
  /// Requests of a session that arrive before earlier ones.
  case channelRequests = "channel_requests"
}
