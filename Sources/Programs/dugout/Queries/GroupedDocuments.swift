// The groups of a query's documents, computed in one pass. Memory grows with the groups, and not with the
// documents.

import DocumentStore

struct GroupedDocuments {
  /// The maximum number of groups.
  static let groupsMax = 100_000
  /// The maximum size of the values that the groups hold.
  static let valueBytesMax = 64 << 20

  /// A group with its results.
  struct Row {
    /// One value for each field of the grouping; nil if the documents lack the field.
    let values: [StoredValue?]
    let results: [StoredValue]
  }

  private struct Group {
    let values: [StoredValue?]
    var totals: [Total]
  }

  private struct Total {
    var count: Int64 = 0
    /// Only for sums and averages.
    var numbers: Aggregation?
    /// Only for minima and maxima.
    var extreme: StoredValue?

    init(_ result: GroupResult) {
      switch result {
      case .count, .minimum, .maximum: break
      case .sum(let field): numbers = Aggregation([.sum(field)])
      case .average(let field): numbers = Aggregation([.average(field)])
      }
    }

    func value(of result: GroupResult) -> StoredValue {
      switch result {
      case .count: .integer(count)
      case .sum, .average: numbers?.results.first ?? .null
      case .minimum, .maximum: extreme ?? .null
      }
    }
  }

  let grouping: Grouping
  private let groupsMax: Int
  private var places: [[ComparedValue?]: Int] = [:]
  private var groups: [Group] = []
  private var valueBytes = 0
  /// The number of documents in all groups.
  private(set) var documents = 0
  /// The fields that no document had so far.
  private(set) var absentFields: [StoredFieldPath]

  init(_ grouping: Grouping, groupsMax: Int = groupsMax) {
    self.grouping = grouping
    self.groupsMax = groupsMax
    absentFields = grouping.fieldsRead
    // Without fields there is one group, even if it has no documents.
    if grouping.fields.isEmpty { groups.append(Group(values: [], totals: grouping.results.map(Total.init))) }
  }

  /// The number of groups.
  var count: Int { groups.count }

  /// Throws if the groups exceed the limits. Call this from time to time.
  func check() throws(DocumentStoreError) {
    let excess =
      groups.count > groupsMax
      ? "more than \(groupsMax) groups" : "groups with more than \(Self.valueBytesMax >> 20) MiB of values"
    guard groups.count > groupsMax || valueBytes > Self.valueBytesMax else { return }
    throw .memoryExceeded(
      "There are \(excess), which is the limit. Choose fewer documents with where, or group by fields with fewer "
        + "different values.")
  }

  mutating func add(_ document: StoredDocument) {
    documents += 1
    if !absentFields.isEmpty { absentFields.removeAll { document.value(of: $0) != nil } }
    let place = place(of: document)
    for (number, result) in grouping.results.enumerated() {
      switch result {
      case .count: groups[place].totals[number].count += 1
      case .sum, .average: groups[place].totals[number].numbers?.add(document)
      case .minimum(let field): add(document.value(of: field), to: place, result: number, ifIs: .before)
      case .maximum(let field): add(document.value(of: field), to: place, result: number, ifIs: .after)
      }
    }
  }

  private mutating func place(of document: StoredDocument) -> Int {
    guard !grouping.fields.isEmpty else { return 0 }
    let key = grouping.fields.map { document.value(of: $0).map(ComparedValue.init) }
    if let place = places[key] { return place }
    let values = key.map { $0?.value }
    places[key] = groups.count
    groups.append(Group(values: values, totals: grouping.results.map(Total.init)))
    valueBytes += key.reduce(0) { $0 + ($1?.bytes ?? 0) }
    return groups.count - 1
  }

  /// Null is no minimum and no maximum, as in Firestore.
  private mutating func add(
    _ value: StoredValue?, to place: Int, result number: Int, ifIs wanted: Ordering
  ) {
    guard let value, value != .null else { return }
    let before = groups[place].totals[number].extreme
    if let before, ValueOrder.compare(value, before) != wanted { return }
    groups[place].totals[number].extreme = value
    valueBytes += ComparedValue(value).bytes - (before.map { ComparedValue($0).bytes } ?? 0)
  }

  // MARK: Rows

  /// The groups in order, from the one after `offset` up to the limit of the grouping.
  func rows(after offset: Int) -> [Row] {
    let rows = groups.map { group in
      Row(
        values: group.values,
        results: zip(grouping.results, group.totals).map { $1.value(of: $0) })
    }
    let sorted = rows.sorted { isBefore($0, $1) }.dropFirst(offset)
    return Array(sorted.prefix(grouping.limit ?? .max))
  }

  private func isBefore(_ left: Row, _ right: Row) -> Bool {
    for order in grouping.orders {
      let ordering = compare(left, right, by: order.column)
      if ordering != .same { return ordering == (order.direction == .ascending ? .before : .after) }
    }
    for place in grouping.fields.indices {
      let ordering = compare(left, right, by: .field(place))
      if ordering != .same { return ordering == .before }
    }
    return false
  }

  /// A missing field comes before all values.
  private func compare(_ left: Row, _ right: Row, by column: Grouping.Column) -> Ordering {
    switch column {
    case .result(let place): ValueOrder.compare(left.results[place], right.results[place])
    case .field(let place):
      switch (left.values[place], right.values[place]) {
      case (nil, nil): .same
      case (nil, _?): .before
      case (_?, nil): .after
      case (let left?, let right?): ValueOrder.compare(left, right)
      }
    }
  }
}

extension GroupedDocuments {
  /// Reads the documents of a query page by page. Passes undecodable documents to `skipped`, and calls
  /// `progress` with the number of documents after each page.
  static func read(
    _ request: (query: StructuredQuery, grouping: Grouping), from store: DocumentStore,
    skipped: ([DocumentPath]) -> Void, progress: (Int) -> Void
  ) throws(DocumentStoreError) -> GroupedDocuments {
    var groups = GroupedDocuments(request.grouping)
    let pages = DocumentPages(store: store, query: request.query)
    try pages.forEach(
      checkNotInterrupted: { () throws(DocumentStoreError) in try groups.check() }, skipped: skipped
    ) { documents in
      for document in documents { groups.add(document) }
      progress(groups.documents)
    }
    try groups.check()
    return groups
  }
}
