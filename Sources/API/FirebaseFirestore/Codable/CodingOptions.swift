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

/// The strategies of an encoder.
struct EncodingStrategies {
  var date = FirebaseDataEncoder.DateEncodingStrategy.timestamp
  var data = FirebaseDataEncoder.DataEncodingStrategy.blob
  var nonConformingFloat = FirebaseDataEncoder.NonConformingFloatEncodingStrategy.throw
  var key = FirebaseDataEncoder.KeyEncodingStrategy.useDefaultKeys
  var userInfo: [CodingUserInfoKey: Any] = [:]

  /// The contextual information; nil if a strategy is not the default.
  var userInfoOfDefaults: [CodingUserInfoKey: Any]? {
    guard case .timestamp = date, case .blob = data, case .throw = nonConformingFloat,
      case .useDefaultKeys = key
    else { return nil }
    return userInfo
  }
}

/// The strategies of a decoder.
struct DecodingStrategies {
  var date = FirebaseDataDecoder.DateDecodingStrategy.timestamp
  var data = FirebaseDataDecoder.DataDecodingStrategy.blob
  var nonConformingFloat = FirebaseDataDecoder.NonConformingFloatDecodingStrategy.throw
  var key = FirebaseDataDecoder.KeyDecodingStrategy.useDefaultKeys
  var userInfo: [CodingUserInfoKey: Any] = [:]
}

final class DecodingOptions {
  private let strategies: DecodingStrategies
  /// The document that is being decoded; nil if the value does not come from a document.
  let reference: DocumentReference?
  /// The behavior for timestamps that the server has not set yet.
  let times: ServerTimestampBehavior
  let convertsKeys: Bool

  init(_ strategies: DecodingStrategies, reference: DocumentReference?, times: ServerTimestampBehavior) {
    self.strategies = strategies
    self.reference = reference
    self.times = times
    if case .useDefaultKeys = strategies.key { convertsKeys = false } else { convertsKeys = true }
  }

  var date: FirebaseDataDecoder.DateDecodingStrategy { strategies.date }
  var data: FirebaseDataDecoder.DataDecodingStrategy { strategies.data }
  var nonConformingFloat: FirebaseDataDecoder.NonConformingFloatDecodingStrategy {
    strategies.nonConformingFloat
  }
  var key: FirebaseDataDecoder.KeyDecodingStrategy { strategies.key }
  var userInfo: [CodingUserInfoKey: Any] { strategies.userInfo }
}
