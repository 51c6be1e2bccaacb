// Targets of a watch stream.

import DocumentStore
package import OfflineSync

/// A target, and whether the stream ends it once it is current.
package struct TargetRequest: Sendable, Equatable {
  package var target: WatchTarget
  package var isOnce: Bool

  package init(_ target: WatchTarget, isOnce: Bool = false) {
    self.target = target
    self.isOnce = isOnce
  }
}

extension DatabaseName {
  private static let purposeLabel = "goog-listen-tags"

  // MARK: Reading

  /// Reads a target. `labels` are those of its request.
  package func target(
    _ wire: Wire.Target, labels: Wire.Labels = Wire.Labels()
  ) throws(RemoteError) -> TargetRequest {
    var target = WatchTarget(TargetID(wire.targetId), try query(of: wire))
    target.purpose = labels[Self.purposeLabel].flatMap(WatchTarget.Purpose.init(label:)) ?? .listen
    switch wire.resumeType {
    case nil: break
    case .resumeToken(let token): target.resumeToken = token
    case .readTime(let time):
      guard time.stored != nil else { throw .invalid("The read time of a target is not a time.") }
      target.readTime = SnapshotVersion(time)
    }
    // A negative count cannot be the one of a client.
    target.expectedCount = wire.expectedCount.flatMap { $0 < 0 ? nil : Int($0) }
    return TargetRequest(target, isOnce: wire.once)
  }

  private func query(of wire: Wire.Target) throws(RemoteError) -> StructuredQuery {
    switch wire.targetType {
    case nil: throw .invalid("A target must have a query or documents.")
    case .documents(let documents):
      guard let name = documents.documents.first, documents.documents.count == 1 else {
        throw RemoteError(.unimplemented, "A target must have exactly one document.")
      }
      return StructuredQuery(.document(try path(of: name)))
    case .query(let target):
      guard let query = target.structuredQuery else {
        throw .invalid("only structured queries are supported")
      }
      let request = try self.query(query, parent: target.parent)
      guard request.mask == nil, request.query.offset == 0, request.query.limit != .first(0) else {
        throw RemoteError(
          .unimplemented, "The query of a target cannot have a projection, an offset, or a limit of 0.")
      }
      return request.query
    }
  }

  // MARK: Writing

  /// The message for a target, with the labels of its request.
  package func wire(
    _ request: TargetRequest
  ) throws(RemoteError) -> (target: Wire.Target, labels: Wire.Labels) {
    let target = request.target
    var wire = Wire.Target()
    wire.targetId = target.id.value
    wire.once = request.isOnce
    if case .document(let path) = target.query.scope {
      var documents = Wire.Target.DocumentsTarget()
      documents.documents = [name(of: path)]
      wire.targetType = .documents(documents)
    } else {
      var query = Wire.Target.QueryTarget()
      (query.parent, query.structuredQuery) = try self.wire(QueryRequest(target.query))
      wire.targetType = .query(query)
    }
    if !target.resumeToken.isEmpty {
      wire.resumeType = .resumeToken(target.resumeToken)
      wire.expectedCount = target.expectedCount.map { Int32(clamping: $0) }
    } else if target.readTime != .none {
      wire.resumeType = .readTime(Wire.Timestamp(target.readTime.stored))
      wire.expectedCount = target.expectedCount.map { Int32(clamping: $0) }
    }
    return (wire, target.purpose.label.map { [Self.purposeLabel: $0] } ?? Wire.Labels())
  }
}

extension WatchTarget.Purpose {
  fileprivate init?(label: String) {
    switch label {
    case "existence-filter-mismatch": self = .existenceFilterMismatch
    case "existence-filter-mismatch-bloom": self = .existenceFilterMismatchBloom
    case "limbo-document": self = .limboResolution
    default: return nil
    }
  }

  /// The label that tells the purpose; nil for an ordinary listener.
  fileprivate var label: String? {
    switch self {
    case .listen: nil
    case .existenceFilterMismatch: "existence-filter-mismatch"
    case .existenceFilterMismatchBloom: "existence-filter-mismatch-bloom"
    case .limboResolution: "limbo-document"
    }
  }
}
