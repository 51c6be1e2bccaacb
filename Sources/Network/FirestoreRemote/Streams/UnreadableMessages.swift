// Messages of the server whose documents, values or times cannot be read. The rest is read alone: the name of
// a document, which the client can then refuse, and the number of results of a batch.

internal import DocumentStore
internal import FirestoreWire
internal import OfflineSync

extension Wire {
  /// A document without its fields and times.
  struct DocumentName: WireMessage {
    var name = ""

    init() {}

    mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.string(1, "name", in: &name)
    }
  }

  /// A change, a deletion or a removal of a document, without content and times.
  struct UnreadableResponse: WireMessage {
    /// The parts of a change of a document.
    struct Change: WireMessage {
      var document: DocumentName?
      var targetIds: [Int32] = []
      var removedTargetIds: [Int32] = []

      init() {}

      mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.message(1, "document", in: &document)
        try visitor.int32s(5, "target_ids", in: &targetIds)
        try visitor.int32s(6, "removed_target_ids", in: &removedTargetIds)
      }
    }

    /// The parts of a deletion or a removal. The number of the targets is that of a deletion, and JSON has no
    /// numbers.
    struct Removal: WireMessage {
      var document = ""
      var removedTargetIds: [Int32] = []

      init() {}

      mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.string(1, "document", in: &document)
        try visitor.int32s(6, "removed_target_ids", in: &removedTargetIds)
      }
    }

    var change: Change?
    var deletion: Removal?
    var removal: Removal?

    init() {}

    mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(3, "document_change", in: &change)
      try visitor.message(4, "document_delete", in: &deletion)
      try visitor.message(6, "document_remove", in: &removal)
    }
  }

  /// An answer to a batch without times and values.
  struct UnreadableWriteResponse: WireMessage {
    struct Result: WireMessage {
      init() {}

      mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {}
    }

    var streamToken: [UInt8] = []
    var results: [Result] = []

    init() {}

    mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.bytes(2, "stream_token", in: &streamToken)
      try visitor.messages(3, "write_results", in: &results)
    }
  }

  /// A document of a lookup, without fields and times.
  struct UnreadableLookup: WireMessage {
    var found: DocumentName?

    init() {}

    mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "found", in: &found)
    }
  }
}

extension DatabaseName {
  /// Returns the change of a document that cannot be read for the given reason. Returns nil if the message is
  /// about something else, or does not name a document of this database.
  func unreadableChange(in message: [UInt8], because reason: String) -> WatchChange? {
    guard let response = try? Wire.UnreadableResponse(json: message, limits: RemoteContext.limits) else {
      return nil
    }
    if let change = response.change, let name = change.document?.name, let path = try? path(of: name) {
      return .document(
        path, RemoteDocument(unreadable: path, because: reason),
        updated: change.targetIds.map(TargetID.init), removed: change.removedTargetIds.map(TargetID.init))
    }
    // The document has left the targets, whatever its content and the times are.
    if let removal = response.deletion ?? response.removal, let path = try? path(of: removal.document) {
      return .document(path, nil, updated: [], removed: removal.removedTargetIds.map(TargetID.init))
    }
    return nil
  }

  /// Returns the document of a lookup that cannot be read for the given reason; nil if the message does not
  /// name one of this database.
  func unreadableDocument(in message: [UInt8], because reason: String) -> RemoteDocument? {
    guard let lookup = try? Wire.UnreadableLookup(json: message, limits: RemoteContext.limits),
      let name = lookup.found?.name, let path = try? path(of: name)
    else { return nil }
    return RemoteDocument(unreadable: path, because: reason)
  }
}
