// Evaluates a query on an encoded document.
//
// Decodes only the fields that the query uses, and does not allocate.
//
// The verdict can be `undecided` for values with parts that are compared as a whole, for filters on the
// document's name, and for queries with cursors. The caller must then decode the document. All other verdicts
// agree with `StructuredQuery`.

import ByteStore

final class EntryMatcher {
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
  func verdict(_ entry: borrowing QueryRun.Entry, _ shapes: ShapeTable) throws(RecordError) -> FilterVerdict {
    var verdict = scope.verdict(entry.key)
    guard verdict != .no else { return .no }
    guard let start = RecordCodec.fieldsStart(entry.record) else {
      throw RecordError(offset: 0, expected: "a record's head")
    }
    let decoder = RecordDecoder(entry.record, shapes, shapeBytes: shapes.bytes.rawSpan)
    let fields = start..<entry.record.byteCount
    for filter in filters {
      verdict = verdict.and(try Self.verdict(filter, decoder, fields: fields))
      if verdict == .no { return .no }
    }
    for order in orders {
      guard try order.find(in: fields, decoder) != nil else { return .no }
    }
    return hasCursors ? .undecided : verdict
  }

  private static func verdict(
    _ node: Node, _ decoder: RecordDecoder, fields: Range<Int>
  ) throws(RecordError) -> FilterVerdict {
    switch node {
    case .undecided: return .undecided
    case .field(let filter):
      guard let value = try filter.field.find(in: fields, decoder) else { return .no }
      return try filter.verdict(value, decoder)
    case .all(let parts):
      return try FilterVerdict.all(parts) { part throws(RecordError) in
        try Self.verdict(part, decoder, fields: fields)
      }
    case .any(let parts):
      return try FilterVerdict.any(parts) { part throws(RecordError) in
        try Self.verdict(part, decoder, fields: fields)
      }
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

  func verdict(_ key: RawSpan) -> FilterVerdict {
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
  let field: StoredField
  private let `operator`: FieldFilter.Operator
  private let operands: EncodedOperands

  init(_ filter: FieldFilter) {
    field = StoredField(filter.field)
    self.operator = filter.operator
    operands = EncodedOperands(filter)
  }

  func verdict(_ value: Range<Int>, _ decoder: RecordDecoder) throws(RecordError) -> FilterVerdict {
    try self.operator.verdict(of: EncodedValue(value, in: decoder.record), operands)
  }
}

private struct EncodedOperands: FilterOperands {
  struct Operand {
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

  let all: [Operand]

  init(_ filter: FieldFilter) { all = (filter.list ?? [filter.operand]).map(Operand.init) }

  var typeClass: TypeClass { all[0].typeClass }

  var haveNull: Bool { all.contains { $0.typeClass == .null } }
}

/// A value in a record.
private struct EncodedValue: FilteredValue, ~Escapable {
  typealias Failure = RecordError

  private let record: RawSpan
  /// The place of the tag and the payload.
  private let place: Range<Int>
  private let tag: RecordCodec.Tag

  @_lifetime(copy record)
  init(_ place: Range<Int>, in record: RawSpan) throws(RecordError) {
    guard let tag = RecordCodec.Tag(rawValue: record.byte(at: place.lowerBound)) else {
      throw RecordError(offset: place.lowerBound, expected: "a value's tag")
    }
    self.record = record
    self.place = place
    self.tag = tag
  }

  var typeClass: TypeClass { tag.typeClass }

  var canBeListed: Bool {
    switch tag {
    case .null: return false
    case .double:
      guard case .double(let number)? = RecordScalar.decode(tag, payload) else { return true }
      return !number.isNaN
    default: return true
    }
  }

  private var payload: RawSpan {
    @_lifetime(copy self)
    get { record.extracting(place.lowerBound + 1..<place.upperBound) }
  }

  func compare(with operands: EncodedOperands) throws(RecordError) -> Ordering? {
    try compare(with: operands.all[0])
  }

  /// Compares the value with an operand of the same type class. Returns nil for values with parts. Inlined,
  /// so that no operand is copied.
  @inline(__always)
  private func compare(with operand: EncodedOperands.Operand) throws(RecordError) -> Ordering? {
    let payload = payload
    if tag == .string || tag == .bytes {
      guard tag == .bytes || UTF8Check.isValid(payload) else {
        throw RecordError(offset: place.lowerBound, expected: "a text in UTF-8")
      }
      let order = payload.compare(with: operand.bytes.rawSpan)
      return order < 0 ? .before : order == 0 ? .same : .after
    }
    guard let scalar = operand.scalar else { return nil }
    guard let own = RecordScalar.decode(tag, payload) else {
      throw RecordError(offset: place.lowerBound, expected: "a value with tag \(tag)")
    }
    return ValueOrder.compare(own, scalar)
  }

  func isAny(of operands: EncodedOperands) throws(RecordError) -> FilterVerdict {
    var verdict = FilterVerdict.no
    for operand in operands.all where operand.typeClass == tag.typeClass {
      switch try compare(with: operand) {
      case .same: return .yes
      case nil: verdict = .undecided
      case .before, .after: continue
      }
    }
    return verdict
  }

  func hasAny(of operands: EncodedOperands, inList: Bool) throws(RecordError) -> FilterVerdict {
    guard tag == .array else { return .no }
    guard let layout = RecordLayout(arrayIn: record, from: place.lowerBound + 1, to: place.upperBound) else {
      throw RecordError(offset: place.lowerBound, expected: "an array")
    }
    var verdict = FilterVerdict.no
    var start = layout.first
    for index in 0..<layout.count {
      guard let end = layout.end(ofValue: index, from: start, in: record) else {
        throw RecordError(offset: start, expected: "a table that leads to elements")
      }
      let element = try EncodedValue(start..<end, in: record)
      if element.canBeListed || !inList { verdict = verdict.or(try element.isAny(of: operands)) }
      if verdict == .yes { return .yes }
      start = end
    }
    return verdict
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
