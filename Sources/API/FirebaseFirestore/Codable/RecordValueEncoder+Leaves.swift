// Writes the types that need no container of their own.

import DocumentStore
private import FirebaseCore
private import Foundation

extension RecordValueEncoder {
  enum Leaf { case written, sentinel, encodesItself }

  /// Writes a value whose type needs no container. The field or element has begun.
  func leaf<T: Encodable>(
    _ value: T, _ name: String?, to writer: UnsafeMutablePointer<RecordWriter>
  ) throws -> Leaf {
    // Comparing types is cheaper than a dynamic cast. The most frequent types come first.
    if T.self == String.self {
      unsafe writer.pointee.string(same(value))
    } else if T.self == Timestamp.self {
      unsafe writer.pointee.timestamp(same(value, as: Timestamp.self).stored)
    } else if T.self == Int.self {
      unsafe writer.pointee.integer(Int64(same(value, as: Int.self)))
    } else if T.self == Double.self {
      let double = same(value, as: Double.self)
      guard double.isFinite else { return try refuse() }
      unsafe writer.pointee.double(double)
    } else if T.self == Bool.self {
      unsafe writer.pointee.boolean(same(value))
    } else if T.self == Date.self {
      let date = same(value, as: Date.self)
      guard Timestamp.problem(date: date) == nil else { return try refuse() }
      unsafe writer.pointee.timestamp(Timestamp(date: date).stored)
    } else if T.self == [String].self, name != nil {
      try unsafe elements(same(value, as: [String].self), writer) { $0.string($1) }
    } else if T.self == [Int].self, name != nil {
      try unsafe elements(same(value, as: [Int].self), writer) { $0.integer(Int64($1)) }
    } else if T.self == Int64.self {
      unsafe writer.pointee.integer(same(value))
    } else if T.self == Data.self {
      unsafe writer.pointee.bytes([UInt8](same(value, as: Data.self)).rawSpan)
    } else if T.self == Float.self {
      let double = Double(same(value, as: Float.self))
      guard double.isFinite else { return try refuse() }
      unsafe writer.pointee.double(double)
    } else if T.self == GeoPoint.self {
      unsafe writer.pointee.geoPoint(same(value, as: GeoPoint.self).stored)
    } else if T.self == FieldValue.self {
      try add(same(value, as: FieldValue.self), name)
      return .sentinel
    } else {
      return try unsafe rareLeaf(value, writer)
    }
    return .written
  }

  private func rareLeaf<T: Encodable>(_ value: T, _ writer: UnsafeMutablePointer<RecordWriter>) throws -> Leaf
  {
    if T.self == DocumentReference.self {
      let reference = same(value, as: DocumentReference.self)
      // Another instance may use the same database. This is decided where the tree is converted.
      if let firestore, reference.firestore !== firestore { return try refuse() }
      unsafe writer.pointee.reference(reference.stored)
    } else if T.self == VectorValue.self {
      unsafe writer.pointee.vector(same(value, as: VectorValue.self).array)
    } else if T.self == URL.self {
      unsafe writer.pointee.string(same(value, as: URL.self).absoluteString)
    } else if T.self == Decimal.self {
      unsafe writer.pointee.double(NSDecimalNumber(decimal: same(value, as: Decimal.self)).doubleValue)
    } else if let integer = Self.rareInteger(value) {
      guard let integer else { return try refuse() }
      unsafe writer.pointee.integer(integer)
    } else {
      return .encodesItself
    }
    return .written
  }

  /// Nil if the value is not an integer. The inner optional is nil if the integer is too large.
  private static func rareInteger<T>(_ value: T) -> Int64?? {
    if T.self == Int32.self { return Int64(same(value, as: Int32.self)) }
    if T.self == UInt8.self { return Int64(same(value, as: UInt8.self)) }
    if T.self == UInt.self { return .some(Int64(exactly: same(value, as: UInt.self))) }
    if T.self == UInt64.self { return .some(Int64(exactly: same(value, as: UInt64.self))) }
    if T.self == UInt32.self { return Int64(same(value, as: UInt32.self)) }
    if T.self == Int16.self { return Int64(same(value, as: Int16.self)) }
    if T.self == UInt16.self { return Int64(same(value, as: UInt16.self)) }
    if T.self == Int8.self { return Int64(same(value, as: Int8.self)) }
    if T.self == Int128.self { return .some(Int64(exactly: same(value, as: Int128.self))) }
    if T.self == UInt128.self { return .some(Int64(exactly: same(value, as: UInt128.self))) }
    return nil
  }

  /// Whether the value is a time that a document can hold.
  static func isValidTime<T>(_ value: T) -> Bool {
    if T.self == Timestamp.self { return true }
    return T.self == Date.self && Timestamp.problem(date: same(value, as: Date.self)) == nil
  }

  private func elements<Element>(
    _ array: [Element], _ writer: UnsafeMutablePointer<RecordWriter>,
    _ write: (inout RecordWriter, Element) -> Void
  ) throws {
    let open = unsafe writer.pointee.beginArray()
    for value in array {
      guard unsafe writer.pointee.isWithinLimits else { return try refuse() }
      unsafe writer.pointee.element(in: open)
      unsafe write(&writer.pointee, value)
    }
    unsafe writer.pointee.end(open)
  }
}
