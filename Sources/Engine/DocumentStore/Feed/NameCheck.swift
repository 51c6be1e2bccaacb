// Names that are keys of a dictionary: Swift takes two for one that look the same, and a store goes by their bytes.

enum NameCheck {
  /// Throws `invalidArgument` if a name that is known is made of other bytes.
  static func requireSame(_ known: String, _ name: String, _ what: String) throws(DocumentStoreError) {
    guard !known.isSameUTF8(as: name) else { return }
    throw .invalidArgument(
      "\(what) is called \"\(known)\" already, with other bytes that look the same. Use those, or another name."
    )
  }
}
