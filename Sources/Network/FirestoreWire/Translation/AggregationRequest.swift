// Aggregates of messages, and aggregates of the engine.

package import DocumentStore
package import OfflineSync

/// Aggregates over a query.
package struct AggregationRequest: Sendable, Equatable {
  package var query: StructuredQuery
  package var list: AggregateList

  package init(_ query: StructuredQuery, _ aggregates: [Aggregate]) {
    self.init(query, AggregateList(aggregates))
  }

  init(_ query: StructuredQuery, _ list: AggregateList) {
    self.query = query
    self.list = list
  }
}

/// Aggregates, and the names of their results.
package struct AggregateList: Sendable, Equatable {
  package var aggregates: [Aggregate]
  /// One name per aggregate, without duplicates.
  package var aliases: [String]
  /// One per aggregate: the number up to which a count counts; nil for no limit.
  package var countsMax: [Int64?]

  init(_ aggregates: [Aggregate]) {
    self.aggregates = aggregates
    aliases = aggregates.indices.map { "field_\($0 + 1)" }
    countsMax = aggregates.map { _ in nil }
  }

  /// The results under their names. `values` are one per aggregate.
  package func result(_ values: [StoredValue]) -> Wire.AggregationResult {
    var result = Wire.AggregationResult()
    result.aggregateFields = StoredMap(
      zip(aliases, zip(values, countsMax)).map { alias, part in
        guard case .integer(let count) = part.0, let countMax = part.1 else { return (alias, part.0) }
        return (alias, .integer(min(count, countMax)))
      })
    return result
  }

  /// The values of a result, one per aggregate. Throws INTERNAL if one is missing, or of a type that the
  /// aggregate cannot have.
  package func values(of result: Wire.AggregationResult) throws(RemoteError) -> [StoredValue] {
    var values: [StoredValue] = []
    for (alias, aggregate) in zip(aliases, aggregates) {
      guard let value = result.aggregateFields[alias], aggregate.canProduce(value) else {
        throw RemoteError(.internal, "The result of the aggregation lacks a valid value for \(alias).")
      }
      values.append(value)
    }
    return values
  }
}

extension DatabaseName {
  /// Reads aggregates over a query of collections below a parent.
  package func aggregation(
    _ wire: Wire.StructuredAggregationQuery, parent: String
  ) throws(RemoteError) -> AggregationRequest {
    guard !wire.aggregations.isEmpty else { throw .invalid("Aggregations can not be empty.") }
    let query = try query(wire.structuredQuery ?? Wire.StructuredQuery(), parent: parent).query
    return AggregationRequest(query, try AggregateList(reading: wire.aggregations))
  }
}

extension AggregateList {
  /// Reads aggregates.
  init(
    reading wire: [Wire.StructuredAggregationQuery.Aggregation]
  ) throws(RemoteError) {
    self.init([])
    for aggregation in wire {
      let (aggregate, countMax) = try Self.aggregate(aggregation)
      aggregates.append(aggregate)
      countsMax.append(countMax)
    }
    do throws(DocumentStoreError) { try Aggregate.check(aggregates) } catch { throw RemoteError(error) }
    aliases = try Self.aliases(wire)
  }

  private static func aggregate(
    _ wire: Wire.StructuredAggregationQuery.Aggregation
  ) throws(RemoteError) -> (Aggregate, countMax: Int64?) {
    switch wire.operator {
    case nil: throw .invalid("Operator field in Aggregation is not set.")
    case .count(let count):
      guard count.upTo ?? 0 >= 0 else {
        throw .invalid("The `up_to` value in a COUNT aggregation must be greater than or equal to zero.")
      }
      return (.count, count.upTo)
    case .sum(let sum): return (.sum(try field(sum.field)), nil)
    case .avg(let average): return (.average(try field(average.field)), nil)
    }
  }

  private static func field(
    _ reference: Wire.StructuredQuery.FieldReference?
  ) throws(RemoteError) -> StoredFieldPath {
    let field = try FieldPathText.parse(reference)
    guard field != .documentID else {
      throw .invalid("Aggregations are not supported for the property: __key__")
    }
    return field
  }

  /// The given names. An aggregate without a name gets one by the number of such aggregates before it.
  private static func aliases(
    _ aggregations: [Wire.StructuredAggregationQuery.Aggregation]
  ) throws(RemoteError) -> [String] {
    var aliases: [String] = []
    var unnamed = 0
    for aggregation in aggregations {
      var alias = aggregation.alias
      if alias.utf8.isEmpty {
        unnamed += 1
        alias = "field_\(unnamed)"
      }
      guard !ReservedName.isReserved(alias) else {
        throw .invalid("The property.name \"\(shortened(alias))\" is reserved.")
      }
      guard alias.utf8.count <= ValueBudget.nameBytesMax else {
        throw .invalid("The property.name is longer than \(ValueBudget.nameBytesMax) bytes.")
      }
      guard !aliases.contains(where: { $0.isSameUTF8(as: alias) }) else {
        throw .invalid("Aggregation aliases contain duplicate alias: \(alias).")
      }
      aliases.append(alias)
    }
    return aliases
  }
}

extension DatabaseName {
  /// The message for aggregates over a query, and the name of the query's parent.
  package func wire(
    _ request: AggregationRequest
  ) throws(RemoteError) -> (parent: String, query: Wire.StructuredAggregationQuery) {
    var (parent, query) = try wire(QueryRequest(request.query))
    // Firestore has no index for orders that the query adds. An aggregate depends on them only if a cursor
    // has values of them.
    let run = request.query.executableForm
    let cursors = [run.start, run.end].map { $0?.values.count ?? 0 }
    query.orderBy = Array(query.orderBy.prefix(max(run.explicitOrders.count, cursors.max() ?? 0)))
    var wire = Wire.StructuredAggregationQuery()
    wire.structuredQuery = query
    wire.aggregations = request.list.aggregates.indices.map { index in
      var aggregation = Wire.StructuredAggregationQuery.Aggregation()
      aggregation.alias = request.list.aliases[index]
      switch request.list.aggregates[index] {
      case .count:
        var count = Wire.StructuredAggregationQuery.Aggregation.Count()
        count.upTo = request.list.countsMax[index]
        aggregation.operator = .count(count)
      case .sum(let field):
        var sum = Wire.StructuredAggregationQuery.Aggregation.Sum()
        sum.field = FieldPathText.reference(field)
        aggregation.operator = .sum(sum)
      case .average(let field):
        var average = Wire.StructuredAggregationQuery.Aggregation.Avg()
        average.field = FieldPathText.reference(field)
        aggregation.operator = .avg(average)
      }
      return aggregation
    }
    return (parent, wire)
  }
}
