// The strategies of a coder, copied when coding starts.

final class EncodingOptions {
  let date: FirebaseDataEncoder.DateEncodingStrategy
  let data: FirebaseDataEncoder.DataEncodingStrategy
  /// Nil if infinities and NaN are encoded like other numbers.
  let nonConformingFloat: FirebaseDataEncoder.NonConformingFloatEncodingStrategy?
  let key: FirebaseDataEncoder.KeyEncodingStrategy
  let userInfo: [CodingUserInfoKey: Any]

  init(
    date: FirebaseDataEncoder.DateEncodingStrategy, data: FirebaseDataEncoder.DataEncodingStrategy,
    nonConformingFloat: FirebaseDataEncoder.NonConformingFloatEncodingStrategy?,
    key: FirebaseDataEncoder.KeyEncodingStrategy, userInfo: [CodingUserInfoKey: Any]
  ) {
    self.date = date
    self.data = data
    self.nonConformingFloat = nonConformingFloat
    self.key = key
    self.userInfo = userInfo
  }

  var convertsKeys: Bool {
    if case .useDefaultKeys = key { false } else { true }
  }

  /// Options for an encoder whose result is not used.
  static var unused: EncodingOptions {
    EncodingOptions(
      date: .timestamp, data: .blob, nonConformingFloat: nil, key: .useDefaultKeys, userInfo: [:])
  }
}

final class DecodingOptions {
  let date: FirebaseDataDecoder.DateDecodingStrategy
  let data: FirebaseDataDecoder.DataDecodingStrategy
  let nonConformingFloat: FirebaseDataDecoder.NonConformingFloatDecodingStrategy
  let key: FirebaseDataDecoder.KeyDecodingStrategy
  let userInfo: [CodingUserInfoKey: Any]
  /// The document that is being decoded; nil if the value does not come from a document.
  let reference: DocumentReference?
  /// The behavior for timestamps that the server has not set yet.
  let times: ServerTimestampBehavior

  init(
    date: FirebaseDataDecoder.DateDecodingStrategy, data: FirebaseDataDecoder.DataDecodingStrategy,
    nonConformingFloat: FirebaseDataDecoder.NonConformingFloatDecodingStrategy,
    key: FirebaseDataDecoder.KeyDecodingStrategy, userInfo: [CodingUserInfoKey: Any],
    reference: DocumentReference?, times: ServerTimestampBehavior
  ) {
    self.date = date
    self.data = data
    self.nonConformingFloat = nonConformingFloat
    self.key = key
    self.userInfo = userInfo
    self.reference = reference
    self.times = times
  }

  var convertsKeys: Bool {
    if case .useDefaultKeys = key { false } else { true }
  }
}
