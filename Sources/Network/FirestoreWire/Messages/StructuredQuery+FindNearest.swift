// Searches for the nearest vectors.

package import DocumentStore

extension Wire.StructuredQuery {
  /// A search for the nearest vectors.
  package struct FindNearest: WireMessage {
    package var vectorField: FieldReference?
    package var queryVector: StoredValue?
    package var distanceMeasure: DistanceMeasure = .unspecified
    package var limit: Int32?
    package var distanceResultField = ""
    package var distanceThreshold: Double?

    package init() {}

    package mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {
      try visitor.message(1, "vector_field", in: &vectorField)
      try visitor.value(2, "query_vector", in: &queryVector)
      try visitor.enumeration(3, "distance_measure", in: &distanceMeasure)
      try visitor.int32Value(4, "limit", in: &limit)
      try visitor.string(5, "distance_result_field", in: &distanceResultField)
      try visitor.doubleValue(6, "distance_threshold", in: &distanceThreshold)
    }

    package enum DistanceMeasure: Int32, WireEnum {
      case unspecified = 0, euclidean, cosine, dotProduct

      package static let names = [
        "DISTANCE_MEASURE_UNSPECIFIED", "EUCLIDEAN", "COSINE", "DOT_PRODUCT",
      ]
    }
  }
}
