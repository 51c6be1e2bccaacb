// Queries.

package import DocumentStore

extension Wire {
  /// A query of documents.
  package struct StructuredQuery: WireMessage {
    package var select: Projection?
    package var from: [CollectionSelector] = []
    package var `where`: Filter?
    package var orderBy: [Order] = []
    package var limit: Int32?
    package var offset: Int32 = 0
    package var startAt: Cursor?
    package var endAt: Cursor?
    package var findNearest: FindNearest?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "select", in: &select)
      try visitor.messages(2, "from", in: &from)
      try visitor.message(3, "where", in: &`where`)
      try visitor.messages(4, "order_by", in: &orderBy)
      try visitor.int32Value(5, "limit", in: &limit)
      try visitor.int32(6, "offset", in: &offset)
      try visitor.message(7, "start_at", in: &startAt)
      try visitor.message(8, "end_at", in: &endAt)
      try visitor.message(9, "find_nearest", in: &findNearest)
    }

    package enum Direction: Int32, WireEnum {
      case unspecified = 0, ascending, descending
      case unrecognized = -1

      package static var unknownNumber: Self { .unrecognized }
      package static let allCases: [Direction] = [.unspecified, .ascending, .descending]
      package static let names = [
        "DIRECTION_UNSPECIFIED", "ASCENDING", "DESCENDING",
      ]
    }

    /// The collections of a query.
    package struct CollectionSelector: WireMessage {
      package var collectionId = ""
      package var allDescendants = false

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.string(2, "collection_id", in: &collectionId)
        try visitor.bool(3, "all_descendants", in: &allDescendants)
      }
    }

    /// One level of the order of results.
    package struct Order: WireMessage {
      package var field: FieldReference?
      package var direction: Direction = .unspecified

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.message(1, "field", in: &field)
        try visitor.enumeration(2, "direction", in: &direction)
      }
    }

    /// The path of a field.
    package struct FieldReference: WireMessage {
      package var fieldPath = ""

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.string(2, "field_path", in: &fieldPath)
      }
    }

    /// The fields that a query returns.
    package struct Projection: WireMessage {
      package var fields: [FieldReference] = []

      package init() {}

      package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
        try visitor.messages(2, "fields", in: &fields)
      }
    }
  }

  /// A position in the order of results.
  package struct Cursor: WireMessage {
    package var values: [StoredValue] = []
    package var before = false
    /// The values of pipelines in the cursor, which has null in their places.
    package var pipelineValues: [PipelineValue] = []

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.values(1, "values", in: &values)
      try visitor.bool(2, "before", in: &before)
      try visitor.notes(of: &pipelineValues)
    }
  }
}
