// Numbers about the answer of a query.

/// What is computed over the answer of a query.
public enum Aggregate: Hashable, Sendable {
  /// How many documents there are.
  case count
  /// The sum of the numbers in a field.
  case sum(StoredFieldPath)
  /// The mean of the numbers in a field.
  case average(StoredFieldPath)

  /// The name of the result where results have names.
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

  /// Whether a remote can have computed this: counts are never negative, and only averages can be nothing.
  package func canBe(_ value: StoredValue) -> Bool {
    switch (self, value) {
    case (.count, .integer(let count)): count >= 0
    case (.sum, .integer), (.sum, .double), (.average, .integer), (.average, .double), (.average, .null): true
    default: false
    }
  }

  /// Throws if they are more than the limit; those that repeat share a result and count once.
  public static func check(
    _ aggregates: [Aggregate], _ limits: QueryLimits = QueryLimits()
  ) throws(DocumentStoreError) {
    let count = Set(aggregates).count
    guard count > limits.aggregatesMax else { return }
    throw .invalidArgument("The query has \(count) aggregates, and the limit is \(limits.aggregatesMax).")
  }
}

/// Aggregates in the making. Feed it the answer of the query, in any order.
package struct Aggregation {
  private let aggregates: [Aggregate]
  /// Those that are added up, each once.
  let fields: [StoredFieldPath]
  /// One for each of the fields.
  private var totals: [Total]
  private var count: Int64 = 0

  package init(_ aggregates: [Aggregate]) {
    self.aggregates = aggregates
    var fields: [StoredFieldPath] = []
    for field in aggregates.compactMap(\.field) where !fields.contains(field) { fields.append(field) }
    self.fields = fields
    totals = fields.map { _ in Total() }
  }

  /// A document that lacks a field of a sum or an average counts for none of the aggregates.
  package mutating func add(_ document: StoredDocument) {
    let values = fields.compactMap(document.value)
    if values.count == fields.count { add(values) }
  }

  /// A document that has these in the fields.
  mutating func add(_ values: [StoredValue]) {
    count += 1
    for (place, value) in values.enumerated() { totals[place].add(value) }
  }

  /// One result for each aggregate: an integer for a count; an integer or a double for a sum; a double, or
  /// null if there was no number, for an average.
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

  /// The numbers of one field; other values do not count.
  private struct Total {
    /// Exact: 2^63 integers fit, with room to spare.
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

    /// An integer if all numbers are and the sum fits one.
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
