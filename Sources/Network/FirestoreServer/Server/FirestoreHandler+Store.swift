// The handler without a server, for tests that bring the loop, the time and the random source.

internal import Authority
package import ByteStore
package import DocumentStore
internal import FirestoreWire
package import HTTPTransport
internal import OfflineSync

extension FirestoreHandler {
  /// Creates the handler of an emulator of one store, which the caller closes.
  package convenience init(
    emulatorOf store: DocumentStore, database: String, clock: MonotonicClock, random: any RandomSource
  ) throws(ServerError) {
    let name: DatabaseName
    let authority: Authority
    do throws(RemoteError) { name = try DatabaseName(database) } catch {
      throw .invalidDatabase(database, reason: error.message)
    }
    do throws(DocumentStoreError) { authority = try Authority.of(store) } catch {
      throw .unusableDatabase(database, reason: error.description)
    }
    var configuration = ServerConfiguration()
    configuration.isEmulator = true
    var channels = ChannelOptions()
    channels.clock = clock
    channels.random = random
    try self.init(
      configuration, SingleDatabase(OpenDatabase(name: name, store: store, authority: authority)),
      journal: RequestJournal(.none), channels: channels)
  }

  /// The number of sessions of WebChannel that are open.
  package var openChannels: Int { Int(journal.metrics.openChannels.value) }

  /// The number of sessions that a shutdown waits for.
  package var undeliveredSessions: Int { runner.streams.waitUntilDelivered(nanoseconds: 0) }

  /// The number of calls of Listen and Write that are open.
  package var openStreams: Int { Int(journal.metrics.openStreams.value) }
}
