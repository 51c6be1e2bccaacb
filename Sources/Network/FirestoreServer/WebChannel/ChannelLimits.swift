// Limits of WebChannel. docs/server.md lists them.

internal import ByteStore
internal import HTTPTransport

/// The limits of sessions, and the sources of their times and ids.
struct ChannelOptions: Sendable {
  var limits = ChannelLimits()
  var clock = MonotonicClock.system
  var random: any RandomSource = SystemRandom()
}

/// Limits that bound the memory and the time of sessions.
struct ChannelLimits: Sendable {
  var channelsMax = 10_000
  /// Sessions that were opened by one connection. Does not apply behind a proxy.
  var channelsPerConnectionMax = 10
  /// Sessions of one address. Does not count addresses of this machine and of proxies.
  var channelsPerAddressMax = 256
  /// Arrays without an acknowledgement with which the call of a session waits.
  var arraysMax = 1000
  /// Bytes of these arrays with which the call waits.
  var arrayBytesMax = 1024 * 1024
  /// Arrays after which a back channel ends. Clients acknowledge when they begin the next one.
  var arraysPerBackChannelMax = 500
  /// Bytes after which a back channel ends.
  var bytesPerBackChannelMax = 512 * 1024
  /// Bytes of a back channel that wait for the client to read them.
  var unreadBytesMax = 64 * 1024
  /// Requests of a client that wait for earlier ones.
  var earlyRequestsMax = 1000
  /// Bytes of these requests.
  var earlyBytesMax = 1024 * 1024
  /// Time without a back channel after which a session is closed.
  var absentNanoseconds: UInt64 = 60_000_000_000
  /// Time after which a session is closed that has never had a back channel.
  var unusedNanoseconds: UInt64 = 10_000_000_000
  /// Time without an array after which the server sends one without a meaning.
  var keepAliveNanoseconds: UInt64 = 30_000_000_000

  /// Requests of a client in one body.
  static let requestsPerBodyMax = 1000
}
