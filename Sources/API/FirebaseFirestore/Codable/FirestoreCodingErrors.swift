// Errors of encoding or decoding this module's types with a coder of another module.

/// The reason why a value could not be encoded.
public enum FirestoreEncodingError: Error {
  /// Only `Firestore.Encoder` can encode the value. The associated text names the value.
  case encodingIsNotSupported(String)
}

/// The reason why a value could not be decoded.
public enum FirestoreDecodingError: Error {
  /// Only `Firestore.Decoder` can decode the value. The associated text names the value.
  case decodingIsNotSupported(String)
  /// This error is no longer thrown: a field with the name of a `@DocumentID` property is ignored.
  case fieldNameConflict(String)
}
