// What values are encoded with that fields are compared with: the opposite of what reads the fields.

private import Foundation

extension Firestore.Decoder {
  /// Makes of a value what this decoder reads it from. A custom strategy has no opposite: what meets it throws.
  func operandEncoder(for field: PropertyField) -> Firestore.Encoder {
    let encoder = Firestore.Encoder()
    encoder.dateEncodingStrategy = field.isTimestamp ? .timestamp : dateEncodingStrategy
    encoder.dataEncodingStrategy = dataEncodingStrategy
    switch nonConformingFloatDecodingStrategy {
    case .throw: break
    case .convertFromString(let infinity, let negativeInfinity, let nan):
      encoder.nonConformingFloatEncodingStrategy = .convertToString(
        positiveInfinity: infinity, negativeInfinity: negativeInfinity, nan: nan)
    }
    // With a custom strategy for keys, no key path comes this far.
    if case .convertFromSnakeCase = keyDecodingStrategy { encoder.keyEncodingStrategy = .convertToSnakeCase }
    encoder.userInfo = userInfo
    return encoder
  }

  private var dateEncodingStrategy: FirebaseDataEncoder.DateEncodingStrategy {
    switch dateDecodingStrategy {
    case .timestamp: .timestamp
    case .deferredToDate: .deferredToDate
    case .secondsSince1970: .secondsSince1970
    case .millisecondsSince1970: .millisecondsSince1970
    case .iso8601: .iso8601
    case .formatted(let formatter): .formatted(formatter)
    case .custom: .custom { _, _ in throw NoOpposite("dates") }
    }
  }

  private var dataEncodingStrategy: FirebaseDataEncoder.DataEncodingStrategy {
    switch dataDecodingStrategy {
    case .blob: .blob
    case .deferredToData: .deferredToData
    case .base64: .base64
    case .custom: .custom { _, _ in throw NoOpposite("data") }
    }
  }
}

private struct NoOpposite: Error, CustomStringConvertible {
  let description: String

  init(_ kind: String) {
    description =
      "What a custom strategy for \(kind) reads cannot be told. Use the steps of query, which take what is stored."
  }
}
