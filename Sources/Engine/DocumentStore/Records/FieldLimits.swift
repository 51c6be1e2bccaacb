// The limits on fields that the encoders of records apply, and Firestore's sizes of names and references.

/// The limits on the fields of a document. `DocumentLimits` has the errors for them.
enum FieldLimits {
  static let valueBytesMax = (1 << 20) - 89
  static let nameBytesMax = RecordCodec.nameBytesMax
  static let depthMax = RecordCodec.depthMax
  static let vectorDimensionsMax = 2048

  /// Whether a field of a user's document may have this name.
  static func isUserName(_ name: String) -> Bool {
    guard name.utf8.count <= nameBytesMax, name.firstInUTF8 != nil else { return false }
    return !isReserved(name)
  }

  /// Whether a name begins and ends with two underscores.
  static func isReserved(_ name: String) -> Bool {
    // Most names do not begin with an underscore, so comparing the first byte is usually enough.
    guard name.firstInUTF8 == UInt8(ascii: "_") else { return false }
    let (bytes, underscores) = (name.utf8, "__".utf8)
    return bytes.starts(with: underscores) && bytes.suffix(2).elementsEqual(underscores)
  }

  /// Firestore's size of a reference; nil if its path is invalid.
  static func size(of reference: StoredReference) -> Int? {
    do throws(PathError) { try reference.path.check() } catch { return nil }
    return size(of: reference.path)
  }

  /// Firestore's size of a document's path.
  static func size(of path: DocumentPath) -> Int {
    var total = PathError.pathBytesOverhead
    for place in path.segments.indices { total += path.segments[place].utf8.count + 1 }
    return total
  }
}
