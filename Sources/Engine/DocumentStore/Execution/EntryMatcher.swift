// Evaluates a query on an encoded document.
//
// Decodes only the fields that the query uses, and does not allocate.
//
// The verdict can be `undecided` for values with parts that are compared as a whole, for filters on the
// document's name, and for queries with cursors. The caller must then decode the document. All other verdicts
// agree with `StructuredQuery`.

import ByteStore

final class EntryMatcher {
  enum Verdict {
    case no, yes
    /// The caller must decode the document.
    case undecided

    fileprivate func and(_ other: Verdict) -> Verdict {
      switch (self, other) {
      case (.no, _), (_, .no): .no
      case (.yes, .yes): .yes
      default: .undecided
      }
    }

    fileprivate func or(_ other: Verdict) -> Verdict {
      switch (self, other) {
      case (.yes, _), (_, .yes): .yes
      case (.no, .no): .no
      default: .undecided
      }
    }
  }

  private indirect enum Node {
    case field(StoredFilter)
    case all([Node])
    case any([Node])
    case undecided

    init(_ tree: FilterTree) {
      switch tree {
      case .field(let filter):
        self = filter.field == .documentID ? .undecided : .field(StoredFilter(filter))
      case .all(let parts): self = .all(parts.map(Node.init))
      case .any(let parts): self = .any(parts.map(Node.init))
      }
    }
  }

  private let scope: StoredScope
  private let filters: [Node]
  /// Fields that a document must have.
  private let orders: [StoredField]
  private let hasCursors: Bool

  init(_ query: StructuredQuery) {
    scope = StoredScope(query.scope)
    filters = query.filters.map(Node.init)
    orders = query.orders.filter { $0.field != .documentID && $0.missing == .excluded }
      .map { StoredField($0.field) }
    hasCursors = query.start != nil || query.end != nil
  }

  /// Returns whether a document matches, regardless of the limit.
  func verdict(_ entry: borrowing QueryRun.Entry, _ shapes: ShapeTable) throws(RecordError) -> Verdict {
    var verdict = scope.verdict(entry.key)
    guard verdict != .no else { return .no }
    guard let start = RecordCodec.fieldsStart(entry.record) else {
      throw RecordError(offset: 0, expected: "a record's head")
    }
    let decoder = RecordDecoder(entry.record, shapes, shapes.bytes.rawSpan)
    let fields = start..<entry.record.byteCount
    for filter in filters {
      verdict = verdict.and(try Self.verdict(filter, decoder, fields))
      if verdict == .no { return .no }
    }
    for order in orders {
      guard try order.find(in: fields, decoder) != nil else { return .no }
    }
    return hasCursors ? .undecided : verdict
  }

  private static func verdict(
    _ node: Node, _ decoder: RecordDecoder, _ fields: Range<Int>
  ) throws(RecordError) -> Verdict {
    switch node {
    case .undecided: return .undecided
    case .field(let filter):
      guard let value = try filter.field.find(in: fields, decoder) else { return .no }
      return try filter.verdict(value, decoder)
    case .all(let parts):
      var verdict = Verdict.yes
      for part in parts {
        verdict = verdict.and(try Self.verdict(part, decoder, fields))
        if verdict == .no { break }
      }
      return verdict
    case .any(let parts):
      var verdict = Verdict.no
      for part in parts {
        verdict = verdict.or(try Self.verdict(part, decoder, fields))
        if verdict == .yes { break }
      }
      return verdict
    }
  }
}

/// A scope as prefixes of document keys.
private enum StoredScope {
  /// The common prefix of the keys of the collection's documents.
  case collection([UInt8])
  /// The encoded segment of the collection id.
  case group([UInt8])
  case document([UInt8])

  init(_ scope: StructuredQuery.Scope) {
    var bytes = [DocumentKey.keyspace]
    switch scope {
    case .collection(let collection):
      for segment in collection.segments { DocumentKey.append(segment, to: &bytes) }
      self = .collection(bytes)
    case .collectionGroup(let id):
      bytes = []
      DocumentKey.append(id, to: &bytes)
      self = .group(bytes)
    case .document(let path): self = .document(DocumentKey.encode(path))
    }
  }

  func verdict(_ key: RawSpan) -> EntryMatcher.Verdict {
    switch self {
    case .collection(let prefix):
      guard key.byteCount > prefix.count, key.extracting(first: prefix.count).isSame(as: prefix.rawSpan)
      else { return .no }
      let name = key.extracting(droppingFirst: prefix.count)
      guard let bytes = DocumentKey.segmentBytes(name) else { return .undecided }
      return bytes + 1 == name.byteCount ? .yes : .no
    case .group(let id):
      // Compares the segment before the last one, which is the collection id. An end marker follows the last
      // segment.
      var last = 0
      var next = 1
      while let bytes = DocumentKey.segmentBytes(key.extracting(droppingFirst: next)) {
        let start = next
        next += bytes
        guard next + 1 == key.byteCount else {
          last = start
          continue
        }
        return key.extracting(last..<start).isSame(as: id.rawSpan) ? .yes : .no
      }
      return .undecided
    case .document(let document): return key.isSame(as: document.rawSpan) ? .yes : .no
    }
  }
}

/// A field path as encoded names.
private struct StoredField {
  private let names: [[UInt8]]

  init(_ path: StoredFieldPath) { names = path.names.map { Array($0.utf8) } }

  /// The bytes of the field's value. Nil if the field is absent or a parent is not a map.
  func find(in fields: Range<Int>, _ decoder: RecordDecoder) throws(RecordError) -> Range<Int>? {
    var map = fields
    for depth in names.indices {
      let layout = try decoder.mapLayout(map)
      let name = names[depth]
      switch layout.find(name.rawSpan, in: decoder.record, shapes: decoder.shapeBytes) {
      case .absent: return nil
      case .damaged:
        throw RecordError(offset: map.lowerBound, expected: "a table that leads to fields")
      case .value(let place):
        guard depth + 1 < names.count else { return place }
        guard decoder.record.byte(at: place.lowerBound) == RecordCodec.Tag.map.rawValue else { return nil }
        guard depth < RecordCodec.depthMax else {
          throw RecordError(
            offset: place.lowerBound, expected: "values at most \(RecordCodec.depthMax) deep")
        }
        map = place.lowerBound + 1..<place.upperBound
      }
    }
    return nil
  }
}

/// A filter on a field, with its operands prepared for comparison with encoded values.
private struct StoredFilter {
  private struct Operand {
    let typeClass: TypeClass
    /// Nil for texts, byte strings and values with parts.
    let scalar: StoredValue?
    /// The bytes of a text or byte string.
    let bytes: [UInt8]

    init(_ value: StoredValue) {
      typeClass = value.typeClass
      switch value {
      case .string(let text): (scalar, bytes) = (nil, Array(text.utf8))
      case .bytes(let content): (scalar, bytes) = (nil, content)
      case .null, .boolean, .integer, .double, .timestamp, .geoPoint: (scalar, bytes) = (value, [])
      case .pendingTimestamp, .reference, .array, .vector, .map: (scalar, bytes) = (nil, [])
      }
    }
  }

  let field: StoredField
  private let `operator`: FieldFilter.Operator
  private let operands: [Operand]

  init(_ filter: FieldFilter) {
    field = StoredField(filter.field)
    self.operator = filter.operator
    switch filter.operator {
    case .isIn, .arrayContainsAny: operands = filter.candidates.map(Operand.init)
    case .notIn: operands = (filter.list ?? []).map(Operand.init)
    default: operands = [Operand(filter.operand)]
    }
  }

  func verdict(
    _ value: Range<Int>, _ decoder: RecordDecoder
  ) throws(RecordError) -> EntryMatcher.Verdict {
    let tag = try Self.tag(value, decoder)
    switch self.operator {
    case .equal, .isIn: return try isAny(value, tag, decoder)
    case .notEqual: return tag == .null ? .no : Self.not(try isAny(value, tag, decoder))
    case .notIn:
      guard tag != .null, !operands.contains(where: { $0.typeClass == .null }) else { return .no }
      return Self.not(try isAny(value, tag, decoder))
    case .arrayContains, .arrayContainsAny: return tag == .array ? try hasAny(value, decoder) : .no
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
      guard tag.typeClass == operands[0].typeClass else { return .no }
      guard let order = try Self.compare(value, tag, operands[0], decoder) else { return .undecided }
      return accepts(order) ? .yes : .no
    }
  }

  private func accepts(_ order: Ordering) -> Bool {
    switch self.operator {
    case .lessThan: order == .before
    case .lessThanOrEqual: order != .after
    case .greaterThan: order == .after
    default: order != .before
    }
  }

  private static func not(_ verdict: EntryMatcher.Verdict) -> EntryMatcher.Verdict {
    switch verdict {
    case .no: .yes
    case .yes: .no
    case .undecided: .undecided
    }
  }

  /// Returns whether the value equals one of the operands.
  private func isAny(
    _ value: Range<Int>, _ tag: RecordCodec.Tag, _ decoder: RecordDecoder
  ) throws(RecordError) -> EntryMatcher.Verdict {
    var verdict = EntryMatcher.Verdict.no
    for operand in operands where operand.typeClass == tag.typeClass {
      switch try Self.compare(value, tag, operand, decoder) {
      case .same: return .yes
      case nil: verdict = .undecided
      case .before, .after: continue
      }
    }
    return verdict
  }

  /// Returns whether an element of the array equals one of the operands.
  private func hasAny(
    _ array: Range<Int>, _ decoder: RecordDecoder
  ) throws(RecordError) -> EntryMatcher.Verdict {
    guard
      let layout = RecordLayout(arrayIn: decoder.record, from: array.lowerBound + 1, to: array.upperBound)
    else { throw RecordError(offset: array.lowerBound, expected: "an array") }
    var verdict = EntryMatcher.Verdict.no
    var start = layout.first
    for index in 0..<layout.count {
      guard let end = layout.end(ofValue: index, from: start, in: decoder.record) else {
        throw RecordError(offset: start, expected: "a table that leads to elements")
      }
      let element = start..<end
      switch try isAny(element, try Self.tag(element, decoder), decoder) {
      case .yes: return .yes
      case .undecided: verdict = .undecided
      case .no: break
      }
      start = end
    }
    return verdict
  }

  private static func tag(
    _ value: Range<Int>, _ decoder: RecordDecoder
  ) throws(RecordError) -> RecordCodec.Tag {
    guard let tag = RecordCodec.Tag(rawValue: decoder.record.byte(at: value.lowerBound)) else {
      throw RecordError(offset: value.lowerBound, expected: "a value's tag")
    }
    return tag
  }

  /// Compares a value with an operand of the same type class. Returns nil for values with parts.
  private static func compare(
    _ value: Range<Int>, _ tag: RecordCodec.Tag, _ operand: Operand, _ decoder: RecordDecoder
  ) throws(RecordError) -> Ordering? {
    let payload = decoder.record.extracting(value.lowerBound + 1..<value.upperBound)
    if tag == .string || tag == .bytes {
      guard tag == .bytes || UTF8Check.isValid(payload) else {
        throw RecordError(offset: value.lowerBound, expected: "a text in UTF-8")
      }
      let order = payload.compare(with: operand.bytes.rawSpan)
      return order < 0 ? .before : order == 0 ? .same : .after
    }
    guard let scalar = operand.scalar else { return nil }
    guard let own = RecordScalar.decode(tag, payload) else {
      throw RecordError(offset: value.lowerBound, expected: "a value with tag \(tag)")
    }
    return ValueOrder.compare(own, scalar)
  }
}

extension RecordCodec.Tag {
  fileprivate var typeClass: TypeClass {
    switch self {
    case .null: .null
    case .false, .true: .boolean
    case .integer, .double: .number
    case .timestamp: .timestamp
    case .pendingTimestamp: .pendingTimestamp
    case .string: .string
    case .bytes: .bytes
    case .reference: .reference
    case .geoPoint: .geoPoint
    case .array: .array
    case .vector: .vector
    case .map: .map
    }
  }
}
