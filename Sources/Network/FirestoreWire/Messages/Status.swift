// Statuses of RPCs.

extension Wire {
  /// An error of an RPC. Details are skipped.
  package struct Status: WireMessage {
    package var code: Int32 = 0
    package var message = ""

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.int32(1, "code", in: &code)
      try visitor.string(2, "message", in: &message)
    }
  }
}
