// Coding of timestamps: as a keyed container, or natively with an encoder that knows them.

/// An encoder that stores timestamps natively. A module above implements it.
package protocol TimestampEncoder: Encoder {
  /// Writes a timestamp as the encoder's whole value.
  func write(_ timestamp: Timestamp)
}

/// A decoder that reads timestamps natively.
package protocol TimestampDecoder: Decoder {
  /// Reads the decoder's whole value. Throws `DecodingError` if it is not a timestamp.
  func timestamp() throws -> Timestamp
}

extension Timestamp: Codable {
  private enum CodingKeys: String, CodingKey {
    case seconds
    case nanoseconds
  }

  /// Throws `DecodingError.dataCorrupted` outside the years 1 to 9999. It does not trap, because decoded
  /// data comes from outside.
  public convenience init(from decoder: any Decoder) throws {
    if let decoder = decoder as? any TimestampDecoder {
      let timestamp = try decoder.timestamp()
      self.init(seconds: timestamp.seconds, nanoseconds: timestamp.nanoseconds)
      return
    }
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let seconds = try container.decode(Int64.self, forKey: .seconds)
    let nanoseconds = try container.decode(Int32.self, forKey: .nanoseconds)
    if let problem = Self.problem(seconds: seconds, nanoseconds: nanoseconds) {
      throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: problem))
    }
    self.init(seconds: seconds, nanoseconds: nanoseconds)
  }

  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? any TimestampEncoder { return encoder.write(self) }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(seconds, forKey: .seconds)
    try container.encode(nanoseconds, forKey: .nanoseconds)
  }
}
