// Encodes and decodes records with given shapes, for tests.

import ByteStore

extension StoredDocument {
  /// Decodes a record with these shapes, which are indexed by id. The names in each shape must be sorted by
  /// bytes.
  package init(path: DocumentPath, record: [UInt8], shapes: [[String]]) throws(RecordError) {
    try self.init(path: path, record: record.rawSpan, shapes: Self.dictionary(shapes).table)
  }

  package func record(shapes: [[String]]) -> [UInt8] {
    var encoder = RecordEncoder(shapes: Self.dictionary(shapes))
    _ = encoder.append(self)
    return encoder.bytes
  }

  /// A dictionary with exactly these shapes.
  private static func dictionary(_ shapes: [[String]]) -> ShapeDictionary {
    let dictionary = ShapeDictionary()
    for (id, names) in shapes.enumerated() { dictionary.add(Shape(id: id, names: names)) }
    return dictionary
  }
}
