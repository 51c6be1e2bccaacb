// What goes wrong when values of this module meet another coder.

/// Why a value could not be encoded.
public enum FirestoreEncodingError: Error {
  /// The value exists only for `Firestore.Encoder`; the text says which.
  case encodingIsNotSupported(String)
}

/// Why a value could not be decoded.
public enum FirestoreDecodingError: Error {
  /// The value exists only for `Firestore.Decoder`; the text says which.
  case decodingIsNotSupported(String)
  /// No longer thrown: a field with the name of a `@DocumentID` property is ignored.
  case fieldNameConflict(String)
}
