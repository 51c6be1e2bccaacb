// Generates random queries for given documents, with every kind of filter, order, cursor and limit.
//
// Most values in queries come from the documents, so that many results are not empty.

package import DocumentStore

package struct QueryGenerator {
  private var values: DocumentGenerator
  private let documents: [StoredDocument]

  /// The maximum limit of a query, which is higher if there are many documents.
  private var limitMax: Int { max(8, documents.count) }

  /// Creates a generator for these documents. There must be at least one document.
  package init(seed: UInt64, about documents: [StoredDocument]) {
    values = DocumentGenerator(seed: seed)
    self.documents = documents
  }

  package mutating func query() -> StructuredQuery {
    var query = StructuredQuery(scope())
    for _ in 0..<values.random.below(3) {
      // Some filters cannot be combined with those of the query. In that case the query omits the new filter.
      let filter = filter(depth: 2, in: query.scope)
      query = (try? query.filtered(by: filter)) ?? query
    }
    for _ in 0..<values.random.below(4) {
      let order = order()
      query = (try? query.ordered(by: order)) ?? query
    }
    if values.random.oneIn(2) { query = addingCursors(to: query) }
    if values.random.oneIn(2) {
      let count = 1 + values.random.below(values.random.oneIn(2) ? 8 : limitMax)
      let limit = values.random.oneIn(2) ? StructuredQuery.Limit.first(count) : .last(count)
      query = (try? query.limited(to: limit)) ?? query
    }
    return query
  }

  /// Returns a query that can use indexes. It has alternatives of equality filters, at least one of which
  /// matches a document, and then a range and an order.
  package mutating func selectiveQuery() -> StructuredQuery {
    let model = document
    var query = StructuredQuery(
      values.random.oneIn(3) ? .collectionGroup(model.path.parent.id) : .collection(model.path.parent))
    let first = equalities(of: model)
    let filter: FilterTree =
      values.random.oneIn(3) ? .any([.all(first), .all(equalities(of: document))]) : .all(first)
    query = (try? query.filtered(by: filter)) ?? query
    if values.random.oneIn(2) {
      let order = OrderBy(frequentField(), values.random.oneIn(2) ? .ascending : .descending)
      if values.random.oneIn(2), let value = document.value(of: order.field) {
        let kind = values.pick(FieldFilter.Operator.allCases.filter { $0.isInequality && !$0.takesList })
        query = (try? query.filtered(by: .field(order.field, kind, value))) ?? query
      }
      query = (try? query.ordered(by: order)) ?? query
      if values.random.oneIn(3) { query = addingCursors(to: query) }
    }
    if values.random.oneIn(3) {
      let count = 1 + values.random.below(values.random.oneIn(2) ? 4 : limitMax)
      query = (try? query.limited(to: values.random.oneIn(2) ? .first(count) : .last(count))) ?? query
    }
    return query
  }

  private mutating func equalities(of document: StoredDocument) -> [FilterTree] {
    (0...values.random.below(3)).compactMap { _ in
      let field = frequentField()
      guard let value = document.value(of: field) else { return nil }
      if case .array(let elements) = value, !elements.isEmpty, !values.random.oneIn(4) {
        return .field(field, .arrayContains, values.pick(elements))
      }
      return .field(field, .equal, value)
    }
  }

  private mutating func frequentField() -> StoredFieldPath {
    values.pick(Array(DocumentGenerator.fields.prefix(3)))
  }

  package mutating func aggregates() -> [Aggregate] {
    (0...values.random.below(3)).map { _ in
      let field = field()
      return values.pick([.count, .sum(field), .average(field)])
    }
  }

  private mutating func scope() -> StructuredQuery.Scope {
    switch values.random.below(12) {
    case 0: .document(document.path)
    case 1...5: .collectionGroup(values.pick(["c", "c", "c", "d", "e"]))
    default: .collection(values.random.oneIn(9) ? document.path.parent : mostlyFirstCollection)
    }
  }

  private var mostlyFirstCollection: CollectionPath {
    documents.map(\.path.parent).first { $0.segments.count == 1 } ?? documents[0].path.parent
  }

  private var document: StoredDocument { mutating get { values.pick(documents) } }

  private mutating func field() -> StoredFieldPath {
    // Half of the time, one of two fields is chosen, so that filters and orders often use the same field.
    values.random.oneIn(2)
      ? values.pick(Array(DocumentGenerator.fields.prefix(2)))
      : values.pick(DocumentGenerator.fields + [.documentID])
  }

  // MARK: Filters

  private mutating func filter(depth: Int, in scope: StructuredQuery.Scope) -> FilterTree {
    switch values.random.below(depth > 0 ? 6 : 4) {
    case 4: .all(filters(depth: depth, in: scope))
    case 5: .any(filters(depth: depth, in: scope))
    default: fieldFilter(in: scope)
    }
  }

  private mutating func filters(depth: Int, in scope: StructuredQuery.Scope) -> [FilterTree] {
    (0..<values.random.below(4)).map { _ in filter(depth: depth - 1, in: scope) }
  }

  private mutating func fieldFilter(in scope: StructuredQuery.Scope) -> FilterTree {
    let field = field()
    let kind = values.pick(FieldFilter.Operator.allCases)
    guard kind.takesList else {
      var operand = operand(on: field, in: scope)
      if kind == .arrayContains { operand = element(of: operand) }
      return .field(field, kind, operand)
    }
    let list = (0...values.random.below(4)).map { _ in
      let operand = operand(on: field, in: scope)
      return kind == .arrayContainsAny ? element(of: operand) : operand
    }
    return .field(field, kind, .array(list))
  }

  /// Returns an operand for a filter or a cursor. In most cases it is the value that some document has in
  /// this field.
  private mutating func operand(on field: StoredFieldPath, in scope: StructuredQuery.Scope) -> StoredValue {
    if field == .documentID { return .string(name(in: scope)) }
    if values.random.oneIn(4) { return values.value() }
    return document.value(of: field) ?? values.value()
  }

  ///  Returns a random element if the value is a nonempty array; otherwise returns the value itself.
  private mutating func element(of value: StoredValue) -> StoredValue {
    if case .array(let elements) = value, !elements.isEmpty { values.pick(elements) } else { value }
  }

  /// Returns a document's name in the form that filters and cursors expect.
  private mutating func name(in scope: StructuredQuery.Scope) -> String {
    if case .collection = scope { document.path.id } else { document.path.description }
  }

  // MARK: Orders and cursors

  private mutating func order() -> OrderBy {
    var order = OrderBy(field(), values.random.oneIn(2) ? .ascending : .descending)
    if values.random.oneIn(4) { order.missing = .asNull }
    return order
  }

  private mutating func addingCursors(to query: StructuredQuery) -> StructuredQuery {
    var query = query
    let (start, end) = (
      values.pick([Cursor.Side.before, .after]), values.pick([Cursor.Side.before, .after])
    )
    if !values.random.oneIn(4) {
      let (document, position) = (document, position(in: query))
      let isDocument = values.random.oneIn(2)
      query = (try? isDocument ? query.starting(start, document) : query.starting(start, position)) ?? query
    }
    if !values.random.oneIn(3) {
      let (document, position) = (document, position(in: query))
      let isDocument = values.random.oneIn(2)
      query = (try? isDocument ? query.ending(end, document) : query.ending(end, position)) ?? query
    }
    return query
  }

  /// Returns cursor values for the first few explicit orders.
  private mutating func position(in query: StructuredQuery) -> [StoredValue] {
    query.explicitOrders.prefix(values.random.below(4)).map { operand(on: $0.field, in: query.scope) }
  }
}
