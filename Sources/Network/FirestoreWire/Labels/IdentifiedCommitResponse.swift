// Answers to a commit with an identity: `CommitResponse` with more fields.

extension Wire {
  /// An answer to a commit with an identity. A reader of `CommitResponse` skips the fields that are not in
  /// it.
  package struct IdentifiedCommitResponse: WireMessage {
    package var writeResults: [IdentifiedWriteResult] = []
    package var commitTime: Timestamp?
    /// Whether the server has taken the identity. Other servers ignore it, and commit at each request.
    package var isIdentified = false
    /// Whether the batch was never applied, and never will be. The request had no writes.
    package var isClosed = false

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.messages(1, "write_results", in: &writeResults)
      try visitor.timestamp(2, "commit_time", in: &commitTime)
      try visitor.bool(1000, "dugout_identified", in: &isIdentified)
      try visitor.bool(1001, "dugout_closed", in: &isClosed)
    }
  }
}
