// All open sessions of a server.

internal import ByteStore
internal import FirestoreService
internal import HTTPTransport
internal import Synchronization

/// The sessions by their ids. Usable from any thread.
final class ChannelSessions: Sendable {
  private struct State {
    var channels: [ChannelID: ServedChannel] = [:]
    var byConnection: [UInt64: Int] = [:]
    var byNetwork: [String: Int] = [:]
    /// Sessions that are being opened or are open.
    var count = 0
  }

  private let limits: ChannelLimits
  private let state = Locked(State())
  private let lastRequest = Atomic<UInt64>(0)

  init(_ limits: ChannelLimits) { self.limits = limits }

  var count: Int { state.withLock { $0.count } }

  /// A number for a request that no other one has.
  func nextRequest() -> UInt64 { lastRequest.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Counts a session that is about to be opened, unless there are too many.
  func admit(_ owner: ChannelOwner) -> ServerRefusal? {
    state.withLock { state in
      guard state.count < limits.channelsMax else { return .channels }
      if let connection = owner.connection,
        state.byConnection[connection, default: 0] >= limits.channelsPerConnectionMax
      {
        return .connectionChannels
      }
      if let network = owner.network, state.byNetwork[network, default: 0] >= limits.channelsPerAddressMax {
        return .addressChannels
      }
      state.count += 1
      if let connection = owner.connection { state.byConnection[connection, default: 0] += 1 }
      if let network = owner.network { state.byNetwork[network, default: 0] += 1 }
      return nil
    }
  }

  /// Adds a session that was admitted.
  func add(_ channel: ServedChannel) { state.withLock { $0.channels[channel.id] = channel } }

  /// Releases the place of a session that was admitted, and not opened.
  func release(_ owner: ChannelOwner) {
    state.withLock { state in
      state.count -= 1
      if let connection = owner.connection { Self.remove(connection, from: &state.byConnection) }
      if let network = owner.network { Self.remove(network, from: &state.byNetwork) }
    }
  }

  private static func remove<Key>(_ key: Key, from counts: inout [Key: Int]) {
    guard let count = counts[key] else { return }
    counts[key] = count == 1 ? nil : count - 1
  }

  /// Removes a session, and releases its place.
  func remove(_ channel: ServedChannel) {
    let removed = state.withLock { $0.channels.removeValue(forKey: channel.id) }
    release(channel.owner)
    withExtendedLifetime(removed) {}
  }

  /// Ends all sessions.
  func endAll() {
    let channels = state.withLock { Array($0.channels.values) }
    for channel in channels { channel.abandon() }
  }

  /// The session of a method with an id.
  func find(_ id: ChannelID, _ method: ServerMethod) -> ServedChannel? {
    let channel = state.withLock { $0.channels[id] }
    return channel?.method == method ? channel : nil
  }
}

/// The client that opens a session, as far as limits hold for it.
struct ChannelOwner: Sendable {
  /// Nil if many clients may share the connection.
  let connection: UInt64?
  /// Nil for a proxy, and for this machine.
  let network: String?

  init(_ connection: ConnectionInfo) {
    self.connection = connection.isProxy ? nil : connection.number
    network = connection.isProxy || connection.isLoopback ? nil : connection.network
  }
}

/// Everything that the sessions of a server share.
struct ChannelSurroundings: Sendable {
  let runner: CallRunner
  let channels: ChannelSessions
  private let options: ChannelOptions

  init(_ runner: CallRunner, _ options: ChannelOptions) {
    self.runner = runner
    self.options = options
    channels = ChannelSessions(options.limits)
  }

  var limits: ChannelLimits { options.limits }
  var now: UInt64 { options.clock.now() }

  /// A new id, for a session or for its client.
  func makeID() -> ChannelID { ChannelID(options.random) }
}

/// A session that is about to be opened.
struct ChannelOpening: Sendable {
  let method: ServerMethod
  let form: FormBody
  let metadata: CallMetadata
  let connection: ConnectionInfo
}
