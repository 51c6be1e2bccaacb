// The connections, credentials and limits that all calls and streams of a remote share.

package import FirestoreWire
package import HTTPClient
package import OfflineSync

/// The connections, the credentials and the database of a remote.
package struct RemoteContext: Sendable {
  package var head: RequestHead
  package var credentials: RemoteCredentials
  package var transport: any WebTransport
  package var channels: any MessageChannels
  /// Runs all work of the remote.
  package var scheduler: any SyncScheduler
  /// The time limit for a call, in microseconds.
  package var callTimeLimit: Int64

  package init(
    _ head: RequestHead, _ credentials: RemoteCredentials, transport: any WebTransport,
    channels: any MessageChannels, scheduler: any SyncScheduler
  ) {
    self.head = head
    self.credentials = credentials
    self.transport = transport
    self.channels = channels
    self.scheduler = scheduler
    callTimeLimit = 15_000_000
  }

  package var database: DatabaseName { head.database }

  /// The size of a message that any server takes: 10 MiB and 63 KiB. The rest of the limit is for the form
  /// around the message.
  static let messageBytesMax = WireLimits.standard.bytesMax - 1024

  /// The limits for messages of the server, whose documents need not follow the rules of writes.
  static let limits: WireLimits = {
    var limits = WireLimits()
    limits.bytesMax = ChannelSettings.receivedBytesMax
    limits.documents = DocumentReading(.received)
    return limits
  }()

  /// Decodes a message of the server.
  static func decode<Message: WireMessage>(
    _ type: Message.Type = Message.self, _ bytes: [UInt8]
  ) throws(RemoteError) -> Message {
    do throws(RemoteError) { return try read(bytes) } catch { throw unreadable(error) }
  }

  /// Decodes a message of the server. The error has the reason alone, for a sentence of the caller.
  static func read<Message: WireMessage>(_ bytes: [UInt8]) throws(RemoteError) -> Message {
    do throws(WireError) { return try Message(json: bytes, limits: limits) } catch {
      throw RemoteError(.internal, error.message)
    }
  }

  /// The error of a call or a stream that has received a message which cannot be read.
  static func unreadable(_ reason: RemoteError, _ code: RemoteError.Code = .internal) -> RemoteError {
    RemoteError(code, "A message of the server cannot be read: \(reason.message)")
  }

  /// Encodes a message for the server.
  static func encode(_ message: some WireMessage) throws(RemoteError) -> [UInt8] {
    do throws(WireError) { return try message.json() } catch { throw RemoteError(error) }
  }

  /// Encodes a batch of writes. Throws INVALID_ARGUMENT if it is longer than what any server takes.
  static func encode(batch message: some WireMessage) throws(RemoteError) -> [UInt8] {
    let bytes = try encode(message)
    guard bytes.count <= messageBytesMax else {
      throw RemoteError(
        .invalidArgument,
        "The batch has \(bytes.count) bytes in JSON, and the remote takes \(messageBytesMax).")
    }
    return bytes
  }
}
