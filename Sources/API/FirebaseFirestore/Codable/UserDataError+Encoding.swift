// The same for those who asked for an encoding, and get an error of encoding.

extension UserDataError {
  /// This error in the words of `Codable`.
  package func asEncodingError(of value: Any) -> EncodingError {
    .invalidValue(
      value,
      EncodingError.Context(codingPath: (field ?? []).map(NameKey.init), debugDescription: message))
  }
}
