// How a client of Dugout identifies its batches, so that the server applies each batch once. Other servers
// ignore the labels and the metadata, and other clients ignore the fields that answers have in addition.
//
//   label              on                                   content
//   dugout-runs        the first request of a write stream  base64 of RunRegistrations
//   dugout-write-id    a later request with writes          base64 of WriteIdentity
//
//   metadata           on                                   content
//   dugout-write-id    Commit without a transaction         base64 of WriteIdentity

package import OfflineSync

/// The labels of a client of Dugout.
package enum WriteLabels {
  package static let runs = "dugout-runs"
  package static let write = "\(writeField)"
  /// `write`, in the form in which fields of HTTP are looked up.
  package static let writeField: StaticString = "dugout-write-id"

  /// The maximum size of an identity in metadata. Servers and proxies limit the fields of a request.
  package static let metadataBytesMax = 4096

  /// Reads the message in a label; nil if there is no such label.
  package static func message<Message: WireMessage>(
    _ type: Message.Type = Message.self, in labels: Wire.Labels, at name: String
  ) throws(RemoteError) -> Message? {
    guard let text = labels[name] else { return nil }
    return try message(text, in: "The label \(name)")
  }

  /// Reads the identity in the metadata of a commit.
  package static func identity(inMetadata text: String) throws(RemoteError) -> Wire.WriteIdentity {
    let count = text.utf8.count
    guard count <= metadataBytesMax else {
      throw RemoteError(
        .invalidArgument,
        "The metadata \(write) has \(count) bytes, and the limit is \(metadataBytesMax).")
    }
    return try message(text, in: "The metadata \(write)")
  }

  private static func message<Message: WireMessage>(
    _ text: String, in place: String
  ) throws(RemoteError) -> Message {
    guard let bytes = Base64.decode(Array(text.utf8)) else {
      throw RemoteError(.invalidArgument, "\(place) is not base64.")
    }
    do throws(WireError) {
      return try Message(protobuf: bytes)
    } catch {
      throw RemoteError(.invalidArgument, "\(place) is not a message: \(error.message)")
    }
  }

  /// The text of a label with a message.
  package static func text(_ message: some WireMessage) throws(WireError) -> String {
    String(decoding: Base64.encode(try message.protobuf()), as: UTF8.self)
  }
}

extension Wire {
  /// The batch that a request has.
  package struct WriteIdentity: WireMessage {
    package var queue = ""
    package var run: Int64 = 0
    package var batch: Int64 = 0
    package var firstOpen: Int64 = 0
    /// The token of the run's registration.
    package var registration: [UInt8] = []
    /// The number of leading `verify` writes that are guards, and not writes of the batch.
    package var guardCount: Int32 = 0

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "queue", in: &queue)
      try visitor.int64(2, "run", in: &run)
      try visitor.int64(3, "batch", in: &batch)
      try visitor.int64(4, "first_open", in: &firstOpen)
      try visitor.bytes(5, "registration", in: &registration)
      try visitor.int32(6, "guard_count", in: &guardCount)
    }
  }

  /// The runs whose batches a client is going to send, or the tokens that the server gives them.
  package struct RunRegistrations: WireMessage {
    package var runs: [Run] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.messages(1, "runs", in: &runs)
    }

    package struct Run: WireMessage {
      package var queue = ""
      package var run: Int64 = 0
      package var token: [UInt8] = []

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.string(1, "queue", in: &queue)
        try visitor.int64(2, "run", in: &run)
        try visitor.bytes(3, "token", in: &token)
      }
    }
  }
}
