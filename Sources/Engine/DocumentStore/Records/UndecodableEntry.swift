// Names for undecodable entries in the reports of check, salvage and backup.

import ByteStore

enum UndecodableEntry {
  /// The name of an undecodable document or shape; nil for other entries.
  static func name(of key: RawSpan, _ value: RawSpan, shapes: ShapeTable) -> String? {
    if let id = Shape.id(of: key) { return name(ofShape: id, value) }
    guard DocumentKey.isOfDocument(key) else { return nil }
    guard let path = DocumentKey.decode([UInt8](copying: key)) else { return name(ofNoPath: key) }
    do throws(RecordError) {
      try RecordCodec.check(value, shapes)
      return nil
    } catch {
      return name(of: path)
    }
  }

  /// The name of a shape with an invalid definition.
  static func name(ofShape id: Int, _ definition: RawSpan) -> String? {
    Shape(id: id, definition: definition) == nil ? "the shape \(id)" : nil
  }

  static func name(of path: DocumentPath) -> String { "\(path)" }

  static func name(ofNoPath key: RawSpan) -> String { "a key of \(key.byteCount) bytes that is not a path" }
}
