// Aggregates over a query's result.

/// An aggregate over a query's result.
public enum Aggregate: Hashable, Sendable {
  /// The number of documents.
  case count
  /// The sum of the numbers in a field.
  case sum(StoredFieldPath)
  /// The average of the numbers in a field.
  case average(StoredFieldPath)

  /// The name of the aggregate's result, for callers that return results by name.
  public var alias: String {
    switch self {
    case .count: "count"
    case .sum(let field): "sum_\(field)"
    case .average(let field): "avg_\(field)"
    }
  }

  var field: StoredFieldPath? {
    switch self {
    case .count: nil
    case .sum(let field), .average(let field): field
    }
  }

  /// Whether a remote can have computed this value: counts are not negative, and only averages can be null.
  package func canProduce(_ value: StoredValue) -> Bool {
    switch (self, value) {
    case (.count, .integer(let count)): count >= 0
    case (.sum, .integer), (.sum, .double), (.average, .integer), (.average, .double), (.average, .null): true
    default: false
    }
  }

  /// Throws if there are more distinct aggregates than the limit.
  public static func check(
    _ aggregates: [Aggregate], _ limits: QueryLimits = QueryLimits()
  ) throws(DocumentStoreError) {
    let count = Set(aggregates).count
    guard count > limits.aggregatesMax else { return }
    throw .invalidArgument("The query has \(count) aggregates, and the limit is \(limits.aggregatesMax).")
  }
}

/// Accumulates aggregates. Add the query's documents in any order.
package struct Aggregation {
  private let aggregates: [Aggregate]
  /// The aggregated fields, without duplicates.
  let fields: [StoredFieldPath]
  /// One per field.
  private var totals: [Total]
  private var count: Int64 = 0

  package init(_ aggregates: [Aggregate]) {
    self.aggregates = aggregates
    var fields: [StoredFieldPath] = []
    for field in aggregates.compactMap(\.field) where !fields.contains(field) { fields.append(field) }
    self.fields = fields
    totals = fields.map { _ in Total() }
  }

  /// Adds a document. A document that lacks any of the aggregated fields is ignored by all aggregates.
  package mutating func add(_ document: StoredDocument) {
    let values = fields.compactMap(document.value)
    if values.count == fields.count { add(values) }
  }

  /// Adds a document that has these values in the aggregated fields.
  mutating func add(_ values: [StoredValue]) {
    count += 1
    for (place, value) in values.enumerated() { totals[place].add(value) }
  }

  /// One result per aggregate. A count is an integer, and a sum is an integer or a double. An average is a
  /// double, or null if there are no numbers.
  package var results: [StoredValue] {
    aggregates.map { aggregate in
      switch aggregate {
      case .count: .integer(count)
      case .sum(let field): total(of: field).sum
      case .average(let field): total(of: field).average
      }
    }
  }

  private func total(of field: StoredFieldPath) -> Total {
    fields.firstIndex(of: field).map { totals[$0] } ?? Total()
  }

  /// Totals of one field; only numbers count.
  private struct Total {
    /// The sum of the integers. It is exact even for 2^63 integers.
    var integers: Int128 = 0
    var doubles: ExactSum?
    var count: Int64 = 0

    mutating func add(_ value: StoredValue) {
      switch value {
      case .integer(let number):
        integers += Int128(number)
      case .double(let number):
        if doubles == nil { doubles = ExactSum() }
        doubles?.add(number)
      default:
        return
      }
      count += 1
    }

    /// An integer if all numbers are integers and the sum fits in 64 bits; otherwise a double.
    var sum: StoredValue {
      if doubles == nil, let sum = Int64(exactly: integers) { .integer(sum) } else { .double(double) }
    }

    var average: StoredValue { count == 0 ? .null : .double(double / Double(count)) }

    private var double: Double {
      guard var all = doubles else { return Double(integers) }
      all.add(integers)
      return all.value
    }
  }
}
