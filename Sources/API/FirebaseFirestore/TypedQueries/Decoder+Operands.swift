// The encoder for operands, which reverses the strategies of a decoder.

private import Foundation

extension Firestore.Decoder {
  /// Returns an encoder for operands of `field`, in the representation that this decoder reads. A custom
  /// strategy cannot be reversed, so values that need it throw.
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
    // Key paths are rejected earlier if the decoder has a custom key strategy.
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
      "The stored form for a custom \(kind) strategy is unknown. Use the methods of query, which take stored values."
  }
}
