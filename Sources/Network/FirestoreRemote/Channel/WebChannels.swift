// Calls over WebChannel.

package import ByteStore
package import HTTPClient
package import OfflineSync

/// Opens calls of one database over a transport.
package final class WebChannels: MessageChannels {
  /// Microseconds for which a host is taken for one that is reached through something that holds streams
  /// back. A device changes its network, so this is found out again.
  private static let bufferingTime: Int64 = 3_600_000_000

  private let transport: any WebTransport
  private let database: String
  private let scheduler: any SyncScheduler
  private let settings: ChannelSettings
  private let random: any RandomSource
  /// The time until which calls begin with polling.
  private let bufferingEnd = Locked<Int64>(.min)

  /// The name of the database is `projects/P/databases/D`. The scheduler runs everything that the calls do,
  /// also their handlers.
  package init(
    _ transport: any WebTransport, database: String, scheduler: any SyncScheduler,
    settings: ChannelSettings = ChannelSettings(), random: any RandomSource = SystemRandom()
  ) {
    self.transport = transport
    self.database = database
    self.scheduler = scheduler
    self.settings = settings
    self.random = random
  }

  package func open(
    _ method: String, fields: [WebRequest.Field], _ handler: @escaping @Sendable (MessageEvent) -> Void
  ) -> any MessageChannel {
    let now = scheduler.now()
    let end = bufferingEnd.withLock { $0 }
    // A clock that was set back does not extend the time.
    let polls = now < end && end <= now + Self.bufferingTime
    let address = SessionAddress(method: method, database: database, seed: random.randomID().high)
    let client = ChannelClient(address, fields: fields, polls: polls, settings: settings)
    return WebChannel(
      client, transport, scheduler: scheduler,
      noteBuffering: { [bufferingEnd, scheduler] in
        let end = scheduler.now() + Self.bufferingTime
        bufferingEnd.withLock { $0 = end }
      }, handler)
  }
}
