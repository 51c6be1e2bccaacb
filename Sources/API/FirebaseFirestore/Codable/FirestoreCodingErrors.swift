// Errors of coding this module's types with another coder.

/// The reason why a value could not be encoded.
public enum FirestoreEncodingError: Error {
  /// Only `Firestore.Encoder` can encode the value, which the text names.
  case encodingIsNotSupported(String)
}

/// The reason why a value could not be decoded.
public enum FirestoreDecodingError: Error {
  /// Only `Firestore.Decoder` can decode the value, which the text names.
  case decodingIsNotSupported(String)
  /// No longer thrown: a field with the name of a `@DocumentID` property is ignored.
  case fieldNameConflict(String)
}
