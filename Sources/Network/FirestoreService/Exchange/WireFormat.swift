// The two encodings of messages.

package import FirestoreWire
package import OfflineSync

/// An encoding of messages. A call uses one encoding in both directions.
public enum WireFormat: Sendable, Hashable, CaseIterable {
  /// Protocol buffers, as in gRPC.
  case protobuf
  /// The JSON mapping of protocol buffers, as in REST.
  case json
}

extension WireFormat {
  package func decode<Message: WireMessage>(
    _ type: Message.Type = Message.self, _ bytes: [UInt8], limits: WireLimits = .standard
  ) throws(RemoteError) -> Message {
    do throws(WireError) {
      switch self {
      case .protobuf: return try Message(protobuf: bytes, limits: limits)
      case .json: return try Message(json: bytes, limits: limits)
      }
    } catch {
      throw RemoteError(error)
    }
  }

  package func encode(_ message: some WireMessage) throws(RemoteError) -> [UInt8] {
    do throws(WireError) {
      switch self {
      case .protobuf: return try message.protobuf()
      case .json: return try message.json()
      }
    } catch {
      throw RemoteError(error)
    }
  }
}
