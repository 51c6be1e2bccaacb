// The coding of timestamps: in a keyed container, or natively if the encoder or decoder supports timestamps.

/// An encoder that stores timestamps natively. A higher module implements this protocol.
package protocol TimestampEncoder: Encoder {
  /// Writes the timestamp as the whole value of this encoder.
  func write(_ timestamp: Timestamp)
}

/// A decoder that reads timestamps natively.
package protocol TimestampDecoder: Decoder {
  /// Reads the whole value of this decoder as a timestamp. Throws `DecodingError` if the value is not a
  /// timestamp.
  func timestamp() throws -> Timestamp
}

extension Timestamp: Codable {
  private enum CodingKeys: String, CodingKey {
    case seconds
    case nanoseconds
  }

  /// Throws `DecodingError.dataCorrupted` for a time outside the years 1 to 9999. The initializer does not
  /// trap, because decoded data comes from outside the program.
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
