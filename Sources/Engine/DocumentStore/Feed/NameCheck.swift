// Guards dictionary keys against names that only Swift considers equal. Swift compares strings by canonical
// equivalence, but the store compares bytes.

enum NameCheck {
  /// Throws `invalidArgument` if a known name equals this one only by canonical equivalence.
  static func requireSame(_ known: String, _ name: String, what: String) throws(DocumentStoreError) {
    guard !known.isSameUTF8(as: name) else { return }
    throw .invalidArgument(
      "\(what) is called \"\(known)\" already, with other bytes that look the same. Use those, or another name."
    )
  }
}
