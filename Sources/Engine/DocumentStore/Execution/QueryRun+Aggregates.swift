// Counts, sums and averages over a query's result.
//
// Index keys are used if they suffice; otherwise, the aggregated fields of the documents are read.

import ByteStore

extension QueryRun {
  /// Computes aggregates from documents. Decodes only the aggregated fields.
  func aggregation(_ aggregates: [Aggregate]) throws(DocumentStoreError) -> Aggregation {
    var aggregation = Aggregation(aggregates)
    let fields = aggregation.fields
    var values: [StoredValue] = []
    try forEachMatch { entry throws(DocumentStoreError) in
      values.removeAll(keepingCapacity: true)
      for field in fields {
        guard let value = try self.value(of: field, in: entry) else { return true }
        values.append(value)
      }
      aggregation.add(values)
      return true
    }
    return aggregation
  }

  /// Computes aggregates from index keys alone. Returns nil if the keys do not suffice.
  func aggregationFromKeys(_ aggregates: [Aggregate]) throws(DocumentStoreError) -> Aggregation? {
    var aggregation = Aggregation(aggregates)
    guard plan.isExact, case .index(let definition)? = plan.onlyAccess?.source,
      let index = view.index(definition), let tree = onlyTree(),
      let sources = Self.sources(of: aggregation.fields, in: index)
    else { return nil }
    var left = limit
    var skipsLeft = plan.offset
    var values = aggregation.fields.map { _ in StoredValue.null }
    let start = OrientedQuery(plan.query).prefix(of: definition).count
    for range in onlyRanges {
      var cursor = try tree.cursor(over: range.inTree, fromEnd: plan.isBackward)
      skip(&skipsLeft, in: &cursor)
      while left > 0, try plan.isBackward ? cursor.previous() : cursor.next() {
        left -= 1
        work.entriesRead += 1
        guard Self.read(sources, from: cursor.key(), start: start, into: &values) else { return nil }
        aggregation.add(values)
      }
    }
    return aggregation
  }

  /// How to use one field of an index.
  private struct Source {
    let direction: OrderBy.Direction
    /// The index of this field in the list of aggregated fields; nil if the field is not aggregated.
    let place: Int?
    let kind: NumberCounts.Kind
  }

  /// Returns one source per index field, up to the last aggregated field. Returns nil if the index lacks an
  /// aggregated field, or if the keys do not determine the number type of an aggregated field.
  private static func sources(of fields: [StoredFieldPath], in index: ManagedIndex) -> [Source]? {
    var sources: [Source] = []
    var found = Set<Int>()
    for (number, field) in index.definition.fields.enumerated() where found.count < fields.count {
      var place = fields.firstIndex(of: field.path)
      let direction: OrderBy.Direction
      switch field.part {
      case .value(let own): direction = own
      case .valueOrNull(let own): (direction, place) = (own, nil)
      case .element: (direction, place) = (.ascending, nil)
      }
      let kind = index.numbers.kind(ofField: number)
      if let place {
        guard kind != nil else { return nil }
        found.insert(place)
      }
      sources.append(Source(direction: direction, place: place, kind: kind ?? .integers))
    }
    return found.count == fields.count ? sources : nil
  }

  private static func read(
    _ sources: [Source], from key: RawSpan, start: Int, into values: inout [StoredValue]
  ) -> Bool {
    var reader = IndexKeyReader(key, from: start)
    for source in sources {
      guard let value = reader.next(source.direction) else { return false }
      guard let place = source.place else { continue }
      // Values other than numbers do not contribute to a sum or an average.
      if case .number(let number) = value {
        values[place] = number.value(source.kind)
      } else {
        values[place] = .null
      }
    }
    return true
  }
}

extension StructuredQuery {
  /// Returns the query with the fields added to its order, so that documents without one of the fields are
  /// excluded. Returns nil if the query has a limit, an offset, a cursor or an explicit order by name,
  /// because the added fields would change its result.
  func ordered(behindBy fields: [StoredFieldPath]) -> StructuredQuery? {
    let known = filters.compactMap { filter in
      if case .field(let filter) = filter, filter.operator == .equal { filter.field } else { nil }
    }
    let missing = fields.filter { field in
      !known.contains(field) && !orders.contains { $0.field == field }
    }
    if missing.isEmpty { return self }
    guard limit == nil, offset == 0, start == nil, end == nil, orders.last?.field == .documentID,
      !explicitOrders.contains(where: { $0.field == .documentID })
    else { return nil }
    var query = self
    let direction = orders.last?.direction ?? .ascending
    query.explicitOrders = orders.dropLast() + missing.map { OrderBy($0, direction) }
    return query
  }
}
