// Answers to a client of Dugout on a write stream: `WriteResponse` with more fields.

package import DocumentStore
package import OfflineSync

extension Wire {
  /// An answer to a request with an identity, or to a handshake that registers runs. A reader of
  /// `WriteResponse` skips the fields that are not in it.
  package struct IdentifiedWriteResponse: WireMessage {
    package var streamId = ""
    package var streamToken: [UInt8] = []
    package var writeResults: [IdentifiedWriteResult] = []
    package var commitTime: Timestamp?
    /// The tokens of the runs that the handshake has registered.
    package var registrations: RunRegistrations?
    /// Whether the batch was not applied, because one of its guards does not hold.
    package var isOvertaken = false

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "stream_id", in: &streamId)
      try visitor.bytes(2, "stream_token", in: &streamToken)
      try visitor.messages(3, "write_results", in: &writeResults)
      try visitor.timestamp(4, "commit_time", in: &commitTime)
      try visitor.message(1000, "dugout_registrations", in: &registrations)
      try visitor.bool(1001, "dugout_overtaken", in: &isOvertaken)
    }
  }

  /// The result of one write, with the version before it.
  package struct IdentifiedWriteResult: WireMessage {
    package var updateTime: Timestamp?
    package var transformResults: [StoredValue] = []
    /// The document's update time before the batch in microseconds since 1970, 0 if it did not exist; nil if
    /// the server does not know.
    package var versionBefore: Int64?

    package init() {}

    package init(_ result: OfflineSync.WriteResult) {
      if result.version != .none { updateTime = Timestamp(result.version.stored) }
      transformResults = result.transformResults
      versionBefore = result.versionBefore?.microseconds
    }

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.timestamp(1, "update_time", in: &updateTime)
      try visitor.values(2, "transform_results", in: &transformResults)
      try visitor.int64Value(1000, "dugout_version_before", in: &versionBefore)
    }
  }
}
