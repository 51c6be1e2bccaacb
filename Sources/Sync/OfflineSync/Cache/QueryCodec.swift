// The binary encoding of a query, for queries that are stored.
//
//   query   := form:u8=1 scope filters orders cursor cursor limit offset:varint
//                                                  the cursors are the start and the end
//   scope   := kind:u8 names                       kind: 0 collection | 1 collection group | 2 document
//   filters := count:varint filter{count}
//   filter  := 0 names operator value | 1 filters | 2 filters       a comparison, all of, any of
//   orders  := count:varint (names direction:u8 missing:u8){count}  explicit ones; 1 descending, 1 as null
//   cursor  := 0 | side:u8 count:varint value{count}                side: 1 before | 2 after
//   limit   := 0 | 1 count:varint | 2 count:varint                  the first, the last
//   names, value := as in BatchCodec; a value is a record with the field "v", and an operator is one name

internal import ByteStore
package import DocumentStore

package enum QueryCodec {
  private static let form: UInt8 = 1
  /// No valid query has more filters, so none nests deeper.
  private static let depthMax = 100

  // MARK: Encoding

  package static func encode(_ query: StructuredQuery) -> [UInt8] {
    var bytes: [UInt8] = [form]
    switch query.scope {
    case .collection(let path): append(0, path.segments, to: &bytes)
    case .collectionGroup(let id): append(1, [id], to: &bytes)
    case .document(let path): append(2, path.segments, to: &bytes)
    }
    append(query.filters, to: &bytes)
    bytes.append(varint: UInt64(query.explicitOrders.count))
    for order in query.explicitOrders {
      BatchCodec.append(order.field.names, to: &bytes)
      bytes.append(order.direction == .descending ? 1 : 0)
      bytes.append(order.missing == .asNull ? 1 : 0)
    }
    append(query.start, to: &bytes)
    append(query.end, to: &bytes)
    switch query.limit {
    case nil: bytes.append(0)
    case .first(let count):
      bytes.append(1)
      bytes.append(varint: UInt64(count))
    case .last(let count):
      bytes.append(2)
      bytes.append(varint: UInt64(count))
    }
    bytes.append(varint: UInt64(query.offset))
    return bytes
  }

  private static func append(_ kind: UInt8, _ names: [String], to bytes: inout [UInt8]) {
    bytes.append(kind)
    BatchCodec.append(names, to: &bytes)
  }

  private static func append(_ filters: [FilterTree], to bytes: inout [UInt8]) {
    bytes.append(varint: UInt64(filters.count))
    for filter in filters {
      switch filter {
      case .field(let comparison):
        append(0, comparison.field.names, to: &bytes)
        BatchCodec.append([comparison.operator.rawValue], to: &bytes)
        append(comparison.operand, to: &bytes)
      case .all(let parts):
        bytes.append(1)
        append(parts, to: &bytes)
      case .any(let parts):
        bytes.append(2)
        append(parts, to: &bytes)
      }
    }
  }

  private static func append(_ cursor: Cursor?, to bytes: inout [UInt8]) {
    guard let cursor else { return bytes.append(0) }
    bytes.append(cursor.side == .before ? 1 : 2)
    bytes.append(varint: UInt64(cursor.values.count))
    for value in cursor.values { append(value, to: &bytes) }
  }

  private static func append(_ value: StoredValue, to bytes: inout [UInt8]) {
    BatchCodec.append(StoredMap([("v", value)]), to: &bytes)
  }

  // MARK: Decoding

  /// Returns nil if the bytes are not a valid query.
  package static func decode(_ bytes: [UInt8]) -> StructuredQuery? {
    var reader = ByteReader(bytes.rawSpan)
    guard reader.uint8() == form, let scope = scope(&reader), let filters = filters(&reader, depth: 0),
      let orders = orders(&reader), let start = cursor(&reader), let end = cursor(&reader),
      let limit = limit(&reader), let offset = reader.varint(), offset <= UInt64(Int32.max),
      reader.bytesLeft == 0
    else { return nil }
    var query = StructuredQuery(scope)
    do throws(DocumentStoreError) {
      for filter in filters { query = try query.filtered(by: filter) }
      for order in orders { query = try query.ordered(by: order) }
      if let limit { query = try query.limited(to: limit) }
      query = try query.skipping(Int(offset))
      query.start = start
      query.end = end
      guard [start, end].allSatisfy({ ($0?.values.count ?? 0) <= query.orders.count }) else { return nil }
      try query.check()
    } catch {
      return nil
    }
    return query
  }

  private static func scope(_ reader: inout ByteReader) -> StructuredQuery.Scope? {
    guard let kind = reader.uint8(), let names = BatchCodec.names(&reader) else { return nil }
    switch kind {
    case 0: return (try? CollectionPath(names)).map { .collection($0) }
    case 1: return names.count == 1 ? .collectionGroup(names[0]) : nil
    case 2: return (try? DocumentPath(names)).map { .document($0) }
    default: return nil
    }
  }

  private static func filters(_ reader: inout ByteReader, depth: Int) -> [FilterTree]? {
    guard depth <= depthMax, let count = count(&reader) else { return nil }
    var filters: [FilterTree] = []
    for _ in 0..<count {
      guard let filter = filter(&reader, depth: depth) else { return nil }
      filters.append(filter)
    }
    return filters
  }

  private static func filter(_ reader: inout ByteReader, depth: Int) -> FilterTree? {
    switch reader.uint8() {
    case 0:
      guard let names = BatchCodec.names(&reader), let field = try? StoredFieldPath(names),
        let name = BatchCodec.names(&reader)?.first, let operation = FieldFilter.Operator(rawValue: name),
        let operand = value(&reader)
      else { return nil }
      return .field(field, operation, operand)
    case 1: return filters(&reader, depth: depth + 1).map { .all($0) }
    case 2: return filters(&reader, depth: depth + 1).map { .any($0) }
    default: return nil
    }
  }

  private static func orders(_ reader: inout ByteReader) -> [OrderBy]? {
    guard let count = count(&reader) else { return nil }
    var orders: [OrderBy] = []
    for _ in 0..<count {
      guard let names = BatchCodec.names(&reader), let field = try? StoredFieldPath(names),
        let direction = reader.uint8(), direction <= 1, let missing = reader.uint8(), missing <= 1
      else { return nil }
      var order = OrderBy(field, direction == 1 ? .descending : .ascending)
      order.missing = missing == 1 ? .asNull : .excluded
      orders.append(order)
    }
    return orders
  }

  private static func cursor(_ reader: inout ByteReader) -> Cursor?? {
    guard let side = reader.uint8(), side <= 2 else { return nil }
    if side == 0 { return .some(nil) }
    guard let count = count(&reader) else { return nil }
    var values: [StoredValue] = []
    for _ in 0..<count {
      guard let value = value(&reader) else { return nil }
      values.append(value)
    }
    return Cursor(side == 1 ? .before : .after, values)
  }

  private static func limit(_ reader: inout ByteReader) -> StructuredQuery.Limit?? {
    guard let kind = reader.uint8(), kind <= 2 else { return nil }
    if kind == 0 { return .some(nil) }
    guard let number = reader.varint(), let count = Int(exactly: number) else { return nil }
    return kind == 1 ? .first(count) : .last(count)
  }

  private static func value(_ reader: inout ByteReader) -> StoredValue? { BatchCodec.fields(&reader)?["v"] }

  private static func count(_ reader: inout ByteReader) -> Int? {
    guard let count = reader.varint(), count <= UInt64(reader.bytesLeft) else { return nil }
    return Int(count)
  }
}
