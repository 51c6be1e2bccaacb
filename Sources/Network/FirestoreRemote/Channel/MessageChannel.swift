// A call with a stream of messages in both directions, whatever carries it.

package import HTTPClient
package import OfflineSync

/// Opens calls with streams.
package protocol MessageChannels: Sendable {
  /// Opens a call of a method, "Listen" or "Write", with these fields of the request. The handler receives
  /// its events serially, on any thread, but never from within a call of this interface. No connection is
  /// made before the first message.
  func open(
    _ method: String, fields: [WebRequest.Field], _ handler: @escaping @Sendable (MessageEvent) -> Void
  ) -> any MessageChannel
}

/// An open call.
package protocol MessageChannel: Sendable {
  /// Sends a message in JSON.
  func send(_ message: [UInt8])
  /// Ends the call. No event follows, except one that has begun before.
  func close()
  /// Holds back the messages of the server until `resume`. About 2 MiB of messages that are on their way
  /// still arrive, and the server's silence counts for nothing. Does nothing by default.
  func pause()
  func resume()
}

extension MessageChannel {
  package func pause() {}
  package func resume() {}
}

/// An event of a call.
package enum MessageEvent: Sendable, Equatable {
  /// A message in JSON.
  case message([UInt8])
  /// The call has ended, with an error if it failed.
  case closed(RemoteError?)
}
