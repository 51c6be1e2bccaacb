// SEAM: replaced by the translation.

package import DocumentStore
package import OfflineSync

package typealias EnginePrecondition = Precondition
package typealias EngineTransform = FieldTransform

package struct DatabaseName: Hashable, Sendable {
  package var projectID: String
  package var databaseID: String

  package init(_ text: String) throws(RemoteError) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 4, parts[0] == "projects", parts[2] == "databases" else {
      throw RemoteError(.invalidArgument, "Database name \"\(text)\" lacks \"projects\" at index 0.")
    }
    (projectID, databaseID) = (parts[1], parts[3])
  }

  package var text: String { "projects/\(projectID)/databases/\(databaseID)" }
  package var documentsName: String { "\(text)/documents" }
  package func name(of path: DocumentPath) -> String { "\(documentsName)/\(path)" }
  package func name(ofParent parent: DocumentPath?) -> String { parent.map(name) ?? documentsName }
  package static func database(of name: String) throws(RemoteError) -> DatabaseName {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    return try DatabaseName(parts.prefix(4).joined(separator: "/"))
  }
  package func path(of name: String) throws(RemoteError) -> DocumentPath {
    guard try Self.database(of: name) == self else { throw RemoteError(.invalidArgument, "foreign") }
    let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    do throws(PathError) { return try DocumentPath(Array(parts.dropFirst(5))) } catch {
      throw RemoteError(.invalidArgument, error.description)
    }
  }
  package func parent(of name: String) throws(RemoteError) -> DocumentPath? {
    name == documentsName ? nil : try path(of: name)
  }
}

extension StoredFieldPath {
  package init(wire: String) throws(RemoteError) {
    do throws(FieldPathError) { try self.init(canonical: wire) } catch {
      throw RemoteError(.invalidArgument, "Invalid property path \"\(wire)\".")
    }
  }
}

extension DatabaseName {
  package func mutation(_ write: Wire.Write) throws(RemoteError) -> Mutation {
    var precondition = EnginePrecondition.none
    switch write.currentDocument?.conditionType {
    case .exists(let exists): precondition = .exists(exists)
    case .updateTime(let time): if let time = time.stored { precondition = .updateTime(time) }
    case nil: break
    }
    switch write.operation {
    case .update(let document):
      let path = try path(of: document.name)
      var transforms: [EngineTransform] = []
      for transform in write.updateTransforms {
        if case .increment(let value) = transform.transformType, let number = StoredNumber(value) {
          transforms.append(EngineTransform(try StoredFieldPath(wire: transform.fieldPath), .increment(number)))
        } else {
          transforms.append(EngineTransform(try StoredFieldPath(wire: transform.fieldPath), .serverTimestamp))
        }
      }
      guard let updateMask = write.updateMask else { return .set(path, document.fields, transforms: transforms, precondition: precondition) }
      let mask = try updateMask.fieldPaths.map { text throws(RemoteError) in try StoredFieldPath(wire: text) }
      return .patch(path, document.fields, mask: FieldMask(mask), transforms: transforms, precondition: precondition)
    case .delete(let name): return .delete(try path(of: name), precondition: precondition)
    case .verify(let name): return .verify(try path(of: name), precondition)
    case .transform, nil: throw RemoteError(.invalidArgument, "empty write operation")
    }
  }
}

package struct QueryRequest {
  package var query: StructuredQuery
  package var mask: FieldMask?
}

package struct AggregationRequest {
  package var query: StructuredQuery
  package var aggregates: [Aggregate]
  package var aliases: [String]
  package func result(_ values: [StoredValue]) -> Wire.AggregationResult {
    var result = Wire.AggregationResult()
    result.aggregateFields = StoredMap(zip(aliases, values).map { ($0, $1) })
    return result
  }
}

package struct TargetRequest {
  package var target: WatchTarget
  package var isOnce: Bool
}

extension DatabaseName {
  package func query(_ wire: Wire.StructuredQuery, parent name: String) throws(RemoteError) -> QueryRequest {
    let parent = try parent(of: name)
    guard let from = wire.from.first else { throw RemoteError(.invalidArgument, "no collection") }
    var mask: FieldMask?
    if let select = wire.select {
      mask = FieldMask(select.fields.compactMap { try? StoredFieldPath(wire: $0.fieldPath) }.filter { $0 != .documentID })
    }
    do throws(DocumentStoreError) {
      var query = StructuredQuery(
        from.allDescendants
          ? .collectionGroup(from.collectionId)
          : .collection(CollectionPath(unchecked: (parent?.segments ?? []) + [from.collectionId])))
      for order in wire.orderBy {
        guard let field = try? StoredFieldPath(wire: order.field?.fieldPath ?? "") else { continue }
        query = try query.ordered(by: OrderBy(field, order.direction == .descending ? .descending : .ascending))
      }
      if let limit = wire.limit, limit > 0 { query = try query.limited(to: .first(Int(limit))) }
      return QueryRequest(query: query, mask: mask)
    } catch {
      throw RemoteError(error)
    }
  }

  package func aggregation(_ wire: Wire.StructuredAggregationQuery, parent: String) throws(RemoteError) -> AggregationRequest {
    AggregationRequest(
      query: try query(wire.structuredQuery ?? .init(), parent: parent).query,
      aggregates: wire.aggregations.map { _ in .count },
      aliases: wire.aggregations.enumerated().map { $1.alias.isEmpty ? "field_\($0 + 1)" : $1.alias })
  }

  package func target(_ wire: Wire.Target, labels: Wire.Labels) throws(RemoteError) -> TargetRequest {
    switch wire.targetType {
    case .query(let target):
      var watch = WatchTarget(TargetID(wire.targetId), try query(target.structuredQuery ?? .init(), parent: target.parent).query)
      if case .resumeToken(let token) = wire.resumeType { watch.resumeToken = token }
      return TargetRequest(target: watch, isOnce: wire.once)
    case .documents(let target):
      return TargetRequest(
        target: WatchTarget(TargetID(wire.targetId), StructuredQuery(.document(try path(of: target.documents[0])))), isOnce: wire.once)
    case nil: throw RemoteError(.invalidArgument, "The target is empty.")
    }
  }

  package func wire(_ document: StoredDocument, mask: FieldMask? = nil) -> Wire.Document {
    var wire = Wire.Document()
    wire.name = name(of: document.path)
    wire.fields = mask.map { StoredMap().replacing($0.paths, from: document.fields) } ?? document.fields
    wire.createTime = Wire.Timestamp(document.createTime)
    wire.updateTime = Wire.Timestamp(document.updateTime)
    return wire
  }

  package func wire(_ change: WatchChange, _ version: SnapshotVersion) -> Wire.ListenResponse {
    var response = Wire.ListenResponse()
    switch change {
    case .target(let state, let ids, let token, let cause):
      var message = Wire.TargetChange()
      message.targetChangeType =
        switch state {
        case .noChange: .noChange
        case .added: .add
        case .removed: .remove
        case .current: .current
        case .reset: .reset
        }
      message.targetIds = ids.map(\.value)
      message.resumeToken = token
      if let cause { message.cause = Wire.Status(cause) }
      if version != .none { message.readTime = Wire.Timestamp(version.stored) }
      response.responseType = .targetChange(message)
    case .document(let path, let document, let updated, let removed):
      if let document, let fields = document.fields {
        var change = Wire.DocumentChange()
        var message = Wire.Document()
        message.name = name(of: path)
        message.fields = fields
        message.updateTime = Wire.Timestamp(document.version.stored)
        message.createTime = Wire.Timestamp(document.createTime.stored)
        change.document = message
        change.targetIds = updated.map(\.value)
        change.removedTargetIds = removed.map(\.value)
        response.responseType = .documentChange(change)
      } else {
        var change = Wire.DocumentDelete()
        change.document = name(of: path)
        change.removedTargetIds = (updated + removed).map(\.value)
        response.responseType = .documentDelete(change)
      }
    case .existenceFilter(let id, let count, _):
      var filter = Wire.ExistenceFilter()
      filter.targetId = id.value
      filter.count = Int32(count)
      response.responseType = .filter(filter)
    }
    return response
  }
}

extension FieldMask {
  package init(_ mask: Wire.DocumentMask) throws(RemoteError) {
    var paths: [StoredFieldPath] = []
    for text in mask.fieldPaths { paths.append(try StoredFieldPath(wire: text)) }
    self.init(paths.filter { $0 != .documentID })
  }
}

extension Wire.WriteResult {
  package init(_ result: WriteResult) {
    self.init()
    if result.version != .none { updateTime = Wire.Timestamp(result.version.stored) }
    transformResults = result.transformResults
  }
}

extension Wire.Status {
  package init(_ error: RemoteError) {
    self.init()
    code = Int32(error.code.rawValue)
    message = error.message
  }
}

