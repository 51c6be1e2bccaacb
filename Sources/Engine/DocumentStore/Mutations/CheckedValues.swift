// Values from outside the process. Each initializer throws where its twin returns nil or checks nothing.

extension StoredTimestamp {
  /// Rounds down to microseconds. Throws `invalidArgument` unless the time is between the years 1 and 9999.
  package init(checkingSeconds seconds: Int64, nanoseconds: Int32) throws(DocumentStoreError) {
    guard let time = StoredTimestamp(seconds: seconds, nanoseconds: nanoseconds) else {
      throw .invalidArgument(
        "The timestamp of \(seconds) seconds and \(nanoseconds) nanoseconds is not between the years 1 and 9999."
      )
    }
    self = time
  }
}

extension StoredGeoPoint {
  /// Throws `invalidArgument` outside -90...90 and -180...180, and for NaN.
  package init(checkingLatitude latitude: Double, longitude: Double) throws(DocumentStoreError) {
    guard let point = StoredGeoPoint(latitude: latitude, longitude: longitude) else {
      throw .invalidArgument(
        "The geographic point (\(latitude), \(longitude)) is not valid. A latitude is between -90 and 90, and a "
          + "longitude between -180 and 180.")
    }
    self = point
  }
}

extension StoredNumber {
  /// Throws `invalidArgument` if the value is not a number.
  package init(checking value: StoredValue) throws(DocumentStoreError) {
    guard let number = StoredNumber(value) else {
      throw .invalidArgument("The operand of an increment, minimum or maximum must be a number.")
    }
    self = number
  }
}

extension StoredValue {
  /// Throws `invalidArgument` if the vector has too many dimensions.
  package static func vector(checking elements: [Double]) throws(DocumentStoreError) -> StoredValue {
    guard elements.count <= FieldLimits.vectorDimensionsMax else {
      throw .invalidArgument(
        "A vector has \(elements.count) dimensions, and the limit is \(FieldLimits.vectorDimensionsMax).")
    }
    return .vector(elements)
  }
}

extension StoredFieldPath {
  /// Parses the canonical text of a path. Throws `invalidArgument` if it is not canonical or exceeds the
  /// limit.
  package init(checking text: String) throws(DocumentStoreError) {
    // In canonical text, each byte of a name can have an escape, and each name two backticks.
    guard text.utf8.count <= 4 * Self.bytesMax else { throw Self.tooLong(text.utf8.count) }
    do throws(FieldPathError) { self = try StoredFieldPath(canonical: text) } catch {
      throw .invalidArgument(error.description)
    }
    guard byteCount <= Self.bytesMax else { throw Self.tooLong(byteCount) }
  }

  private static func tooLong(_ bytes: Int) -> DocumentStoreError {
    .invalidArgument("A field's path has \(bytes) bytes, and the limit is \(bytesMax).")
  }
}

extension FieldMask {
  /// Parses the canonical texts of paths. Throws `invalidArgument` for the first one that is not valid.
  package init(checking texts: [String]) throws(DocumentStoreError) {
    var paths: [StoredFieldPath] = []
    paths.reserveCapacity(texts.count)
    for text in texts { paths.append(try StoredFieldPath(checking: text)) }
    self.init(paths)
  }
}
