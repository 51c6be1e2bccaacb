// Messages of a watch stream.

import DocumentStore
package import OfflineSync

extension DatabaseName {
  // MARK: Writing

  /// The message for a change. `version` is the time of the snapshot that the change belongs to, or `none`.
  package func wire(_ change: WatchChange, _ version: SnapshotVersion) -> Wire.ListenResponse {
    var response = Wire.ListenResponse()
    switch change {
    case .target(let state, let ids, let resumeToken, let cause):
      var target = Wire.TargetChange()
      target.targetChangeType = state.wire
      target.targetIds = ids.map(\.value)
      target.resumeToken = resumeToken
      target.cause = cause.map(Wire.Status.init)
      target.readTime = Self.time(version)
      response.responseType = .targetChange(target)
    case .document(let path, let document?, let updated, let removed):
      response.responseType = self.response(path, document, updated: updated, removed: removed)
    case .document(let path, nil, _, let removed):
      var remove = Wire.DocumentRemove()
      remove.document = name(of: path)
      remove.removedTargetIds = removed.map(\.value)
      remove.readTime = Self.time(version)
      response.responseType = .documentRemove(remove)
    case .existenceFilter(let id, let count, let filter):
      var existence = Wire.ExistenceFilter()
      existence.targetId = id.value
      existence.count = Int32(clamping: count)
      existence.unchangedNames = filter.map(Wire.BloomFilter.init)
      response.responseType = .filter(existence)
    }
    return response
  }

  private func response(
    _ path: DocumentPath, _ document: RemoteDocument, updated: [TargetID], removed: [TargetID]
  ) -> Wire.ListenResponse.ResponseType {
    guard document.fields != nil else {
      var delete = Wire.DocumentDelete()
      delete.document = name(of: path)
      delete.readTime = Self.time(document.version)
      // A target of a single document is told in this way that the document does not exist.
      delete.removedTargetIds = (removed + updated).map(\.value)
      return .documentDelete(delete)
    }
    var change = Wire.DocumentChange()
    change.document = wire(document)
    change.targetIds = updated.map(\.value)
    change.removedTargetIds = removed.map(\.value)
    return .documentChange(change)
  }

  private static func time(_ version: SnapshotVersion) -> Wire.Timestamp? {
    version == .none ? nil : Wire.Timestamp(version.stored)
  }

  // MARK: Reading

  /// Reads a message. Returns nil for a message without content. The version is `none` unless the message has
  /// a time and names no target.
  package func change(
    _ response: Wire.ListenResponse
  ) throws(RemoteError) -> (change: WatchChange, version: SnapshotVersion)? {
    switch response.responseType {
    case nil: return nil
    case .targetChange(let target):
      let change = WatchChange.target(
        WatchChange.TargetState(target.targetChangeType), target.targetIds.map(TargetID.init),
        resumeToken: target.resumeToken, cause: target.cause.flatMap(RemoteError.init))
      return (change, target.targetIds.isEmpty ? SnapshotVersion(target.readTime) : .none)
    case .documentChange(let change):
      guard let wire = change.document else {
        throw RemoteError(.internal, "A change of a document lacks the document.")
      }
      let document = try document(wire)
      return (
        .document(
          document.path, document, updated: change.targetIds.map(TargetID.init),
          removed: change.removedTargetIds.map(TargetID.init)), .none
      )
    case .documentDelete(let delete):
      let path = try path(of: delete.document)
      let absent = RemoteDocument(path, nil, version: SnapshotVersion(delete.readTime))
      let removed = delete.removedTargetIds.map(TargetID.init)
      return (.document(path, absent, updated: [], removed: removed), .none)
    case .documentRemove(let remove):
      let removed = remove.removedTargetIds.map(TargetID.init)
      return (.document(try path(of: remove.document), nil, updated: [], removed: removed), .none)
    case .filter(let filter):
      let parts = filter.unchangedNames.map(BloomFilter.Parts.init)
      return (.existenceFilter(TargetID(filter.targetId), count: Int(filter.count), parts), .none)
    }
  }
}

extension WatchChange.TargetState {
  fileprivate init(_ wire: Wire.TargetChange.TargetChangeType) {
    switch wire {
    case .noChange: self = .noChange
    case .add: self = .added
    case .remove: self = .removed
    case .current: self = .current
    case .reset: self = .reset
    }
  }

  fileprivate var wire: Wire.TargetChange.TargetChangeType {
    switch self {
    case .noChange: .noChange
    case .added: .add
    case .removed: .remove
    case .current: .current
    case .reset: .reset
    }
  }
}

extension Wire.BloomFilter {
  fileprivate init(_ parts: BloomFilter.Parts) {
    self.init()
    var bits = Wire.BitSequence()
    bits.bitmap = parts.bitmap
    bits.padding = Int32(clamping: parts.padding)
    self.bits = bits
    hashCount = Int32(clamping: parts.hashCount)
  }
}

extension BloomFilter.Parts {
  fileprivate init(_ wire: Wire.BloomFilter) {
    self.init(
      bitmap: wire.bits?.bitmap ?? [], padding: Int(wire.bits?.padding ?? 0), hashCount: Int(wire.hashCount))
  }
}
