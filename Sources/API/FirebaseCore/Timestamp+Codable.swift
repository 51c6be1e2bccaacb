// A timestamp in any coder: a keyed container with `seconds` and `nanoseconds`, or what it is, where the coder knows it.

/// An encoder that timestamps pass through. The one there is belongs to a module above.
package protocol TimestampEncoder: Encoder {
  /// Writes all that this encoder is for.
  func write(_ timestamp: Timestamp)
}

/// A decoder that timestamps pass through.
package protocol TimestampDecoder: Decoder {
  /// All that this decoder is for. Throws `DecodingError` if that is no timestamp.
  func timestamp() throws -> Timestamp
}

extension Timestamp: Codable {
  private enum CodingKeys: String, CodingKey {
    case seconds
    case nanoseconds
  }

  /// Throws `DecodingError.dataCorrupted` for what is no moment between the years 1 and 9999: what a
  /// coder reads came from outside, so it never traps.
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
