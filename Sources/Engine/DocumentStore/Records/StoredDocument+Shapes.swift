// Records with shapes of the caller's own, for those who test them.

import ByteStore

extension StoredDocument {
  /// Of a record whose shapes are these, by id; the names of each are in the order of their bytes.
  package init(path: DocumentPath, record: [UInt8], shapes: [[String]]) throws(RecordError) {
    try self.init(path: path, record: record.rawSpan, Self.dictionary(shapes).table)
  }

  package func record(shapes: [[String]]) -> [UInt8] {
    var encoder = RecordEncoder(shapes: Self.dictionary(shapes))
    _ = encoder.append(self)
    return encoder.bytes
  }

  /// It takes no others.
  private static func dictionary(_ shapes: [[String]]) -> ShapeDictionary {
    let dictionary = ShapeDictionary()
    for (id, names) in shapes.enumerated() { dictionary.add(Shape(id: id, names: names)) }
    return dictionary
  }
}
