// Converts `UserDataError` to `EncodingError`, for callers of an encoder.

extension UserDataError {
  /// Returns this error as an `EncodingError`.
  package func asEncodingError(of value: Any) -> EncodingError {
    .invalidValue(
      value,
      EncodingError.Context(codingPath: (field ?? []).map(NameKey.init), debugDescription: message))
  }
}
