// Queries of messages, and queries of the engine.

package import DocumentStore
package import OfflineSync

/// A query, and the fields that its results have.
package struct QueryRequest: Sendable, Equatable {
  package var query: StructuredQuery
  /// The fields that are sent; nil for all. An empty mask asks for the names of the documents only.
  package var mask: FieldMask?

  package init(_ query: StructuredQuery, mask: FieldMask? = nil) {
    self.query = query
    self.mask = mask
  }
}

extension DatabaseName {
  // MARK: Reading

  /// Reads a query of collections below a parent. Throws INVALID_ARGUMENT if the query breaks a rule, and
  /// UNIMPLEMENTED if the engine has no such query. Queries over all collections are read by `nameQuery`.
  package func query(
    _ wire: Wire.StructuredQuery, parent name: String
  ) throws(RemoteError) -> QueryRequest {
    let parent = try parent(of: name)
    guard wire.findNearest == nil else {
      throw RemoteError(.unimplemented, "Searches for the nearest vectors are not supported.")
    }
    var parts = QueryParts(try scope(of: wire.from, in: parent))
    var orders = try OrderReader(
      parts.scope, filters: wire.where?.fieldFilterCount ?? 0, orders: wire.orderBy.count)
    for order in wire.orderBy { try orders.add(order) }
    parts.orders = orders.orders
    var filters: [FilterTree] = []
    if let filter = wire.where { filters.append(try FilterReader(database: self).tree(filter)) }
    if let filter = FilterTree.all(filters).simplified { try QueryRules.check(filter) }
    if case .collectionGroup = parts.scope, let parent { filters += parent.descendantFilters }
    parts.filter = filters.isEmpty ? nil : .all(filters)
    parts.start = try cursor(wire.startAt, parts.orders)
    parts.end = try cursor(wire.endAt, parts.orders)
    guard wire.limit ?? 0 >= 0 else { throw .invalid("limit is negative") }
    guard wire.offset >= 0 else { throw .invalid("offset is negative") }
    let isVoid = excludesAll(wire.startAt, unlessBefore: true) || excludesAll(wire.endAt, unlessBefore: false)
    parts.limit = isVoid ? .first(0) : wire.limit.map { .first(Int($0)) }
    parts.offset = Int(wire.offset)
    let mask = try wire.select.map { select throws(RemoteError) in try FieldMask(select) }
    do throws(DocumentStoreError) {
      return QueryRequest(try StructuredQuery(checking: parts), mask: mask)
    } catch {
      throw RemoteError(error)
    }
  }

  private func scope(
    of selectors: [Wire.StructuredQuery.CollectionSelector], in parent: DocumentPath?
  ) throws(RemoteError) -> StructuredQuery.Scope {
    guard selectors.count <= 1 else {
      throw .invalid("StructuredQuery.from cannot have more than one collection selector.")
    }
    guard let selector = selectors.first, !selector.collectionId.utf8.isEmpty else {
      throw RemoteError(
        .unimplemented,
        "The query must name its collection. Queries over all collections are only run, not watched.")
    }
    let id = selector.collectionId
    guard !id.utf8.contains(UInt8(ascii: "/")) else {
      throw .invalid("Collection id \"\(shortened(id))\" is invalid because it contains \"/\".")
    }
    do throws(PathError) {
      if selector.allDescendants {
        _ = try CollectionPath([id])
        return .collectionGroup(id)
      }
      return .collection(try CollectionPath((parent?.segments ?? []) + [id]))
    } catch {
      guard ReservedName.isReserved(id) else { throw .invalid(error.description) }
      throw .invalid("Collection id \"\(shortened(id))\" is invalid because it is reserved.")
    }
  }

  /// Reads a cursor, whose values belong to the first orders of the query. A cursor without values lies
  /// before or after all documents, and is left out.
  func cursor(_ wire: Wire.Cursor?, _ orders: [OrderBy]) throws(RemoteError) -> Cursor? {
    guard let wire, !wire.values.isEmpty else { return nil }
    guard wire.values.count <= orders.count else { throw .invalid("Cursor has too many values.") }
    if let value = wire.pipelineValues.first {
      let fields = orders.map { FieldPathText.text($0.field) }.joined(separator: ", ")
      throw RemoteError(PipelineValue.refused(value.type, field: fields))
    }
    for (order, value) in zip(orders, wire.values) where order.field == .documentID {
      guard case .reference(let reference) = value else {
        throw .invalid("Cursor __key__ value is not a document reference.")
      }
      guard contains(reference) else {
        throw .invalid("The cursor key is in a different database than the query")
      }
    }
    return Cursor(wire.before ? .before : .after, wire.values)
  }

  /// Whether a cursor without values excludes all documents.
  func excludesAll(_ wire: Wire.Cursor?, unlessBefore before: Bool) -> Bool {
    guard let wire else { return false }
    return wire.values.isEmpty && wire.before != before
  }

  // MARK: Writing

  /// The message for a query, and the name of its parent. A query for the last documents is written in
  /// reversed order, as all clients do; its result must be reversed.
  package func wire(
    _ request: QueryRequest
  ) throws(RemoteError) -> (parent: String, query: Wire.StructuredQuery) {
    let run = request.query.executableForm
    guard !run.orders.contains(where: { $0.missing == .asNull }) else {
      throw RemoteError(.unimplemented, "Firestore has no orders that include documents without the field.")
    }
    var wire = Wire.StructuredQuery()
    let (parent, selector) = try selector(of: run.scope)
    wire.from = [selector]
    let filters = FilterWriter(database: self).filters(run.filters)
    wire.where = filters.count > 1 ? FilterWriter.composite(.and, filters) : filters.first
    // Firestore refuses orders after that of names. The query may have them implicitly, for its inequalities.
    let orders = run.explicitOrders.last?.field == .documentID ? run.explicitOrders : run.orders
    guard [run.start, run.end].allSatisfy({ ($0?.values.count ?? 0) <= orders.count }) else {
      throw RemoteError(.unimplemented, "Firestore has no cursors with values behind that of the name.")
    }
    wire.orderBy = orders.map(\.wire)
    if case .first(let count) = run.limit { wire.limit = Int32(clamping: count) }
    wire.offset = Int32(clamping: run.offset)
    wire.startAt = run.start.map { self.wire($0, orders) }
    wire.endAt = run.end.map { self.wire($0, orders) }
    wire.select = request.mask.map(\.projection)
    return (parent, wire)
  }

  private func selector(
    of scope: StructuredQuery.Scope
  ) throws(RemoteError) -> (parent: String, Wire.StructuredQuery.CollectionSelector) {
    var selector = Wire.StructuredQuery.CollectionSelector()
    switch scope {
    case .collection(let path):
      selector.collectionId = path.id
      return (name(ofParent: path.parent), selector)
    case .collectionGroup(let id):
      selector.collectionId = id
      selector.allDescendants = true
      return (documentsName, selector)
    case .document:
      throw RemoteError(.internal, "A single document is read by its name, not by a query.")
    }
  }

  private func wire(_ cursor: Cursor, _ orders: [OrderBy]) -> Wire.Cursor {
    var wire = Wire.Cursor()
    wire.before = cursor.side == .before
    wire.values = zip(orders, cursor.values).map { order, value in
      order.field == .documentID ? named(value) : value
    }
    return wire
  }
}

// MARK: - Orders and masks

extension OrderBy {
  fileprivate var wire: Wire.StructuredQuery.Order {
    var wire = Wire.StructuredQuery.Order()
    wire.field = FieldPathText.reference(field)
    wire.direction = direction == .ascending ? .ascending : .descending
    return wire
  }
}

extension FieldMask {
  /// The mask of a projection. Names of documents are always sent.
  init(_ projection: Wire.StructuredQuery.Projection) throws(RemoteError) {
    var paths: [StoredFieldPath] = []
    for field in projection.fields {
      let path = try FieldPathText.parse(field)
      if path != .documentID { paths.append(path) }
    }
    self.init(paths)
  }

  fileprivate var projection: Wire.StructuredQuery.Projection {
    var projection = Wire.StructuredQuery.Projection()
    projection.fields = (isEmpty ? [.documentID] : paths).map(FieldPathText.reference)
    return projection
  }
}
