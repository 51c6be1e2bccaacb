// Reads the fields of a type that is `FirestoreRecordDecodable`.

/// The fields of a document or of a map, read by name.
///
/// Reading the fields in the same order for every document is fastest. All methods throw `DecodingError`,
/// with the same contents as those of a keyed container with the field's name as key.
public struct FieldReader: ~Copyable {
  private let fields: Fields

  /// The containers with the fields. Each one is specialized for names as keys.
  private enum Fields {
    case record(RecordDecodingContainer<NameKey>)
    case map(MapDecodingContainer<NameKey>)
    /// The fields that another module's decoder reads.
    case other(KeyedDecodingContainer<NameKey>)
  }

  /// The document that is being decoded; nil if the fields do not come from a document.
  public let reference: DocumentReference?

  /// Throws if the value to decode is not a map.
  init(_ decoder: any Decoder, for type: Any.Type) throws {
    let own = ValueDecoder.of(decoder)
    fields = try own.map { try Self.fields($0, type) } ?? .other(decoder.container(keyedBy: NameKey.self))
    reference = own?.options.reference
  }

  /// Whether the fields are read straight from the bytes of a document. For tests.
  package var readsRecord: Bool {
    if case .record = fields { true } else { false }
  }

  private static func fields(_ decoder: ValueDecoder, _ type: Any.Type) throws -> Fields {
    switch try decoder.fields(for: ObjectIdentifier(type)) {
    case .record(let fields): .record(RecordDecodingContainer(fields))
    case .others(let cursor): .map(MapDecodingContainer(cursor))
    }
  }

  // MARK: Required fields

  // These methods throw `keyNotFound` if the field does not exist, and `valueNotFound` if it is null and the
  // type cannot be null.

  /// Decodes a string.
  public mutating func decode(_ name: String) throws -> String {
    switch fields {
    case .record(let fields): try fields.decode(String.self, forKey: NameKey(name))
    case .map(let fields): try fields.decode(String.self, forKey: NameKey(name))
    case .other(let fields): try fields.decode(String.self, forKey: NameKey(name))
    }
  }

  /// Decodes a number as an integer.
  public mutating func decode(_ name: String) throws -> Int {
    switch fields {
    case .record(let fields): try fields.decode(Int.self, forKey: NameKey(name))
    case .map(let fields): try fields.decode(Int.self, forKey: NameKey(name))
    case .other(let fields): try fields.decode(Int.self, forKey: NameKey(name))
    }
  }

  /// Decodes a number.
  public mutating func decode(_ name: String) throws -> Double {
    switch fields {
    case .record(let fields): try fields.decode(Double.self, forKey: NameKey(name))
    case .map(let fields): try fields.decode(Double.self, forKey: NameKey(name))
    case .other(let fields): try fields.decode(Double.self, forKey: NameKey(name))
    }
  }

  /// Decodes a boolean.
  public mutating func decode(_ name: String) throws -> Bool {
    switch fields {
    case .record(let fields): try fields.decode(Bool.self, forKey: NameKey(name))
    case .map(let fields): try fields.decode(Bool.self, forKey: NameKey(name))
    case .other(let fields): try fields.decode(Bool.self, forKey: NameKey(name))
    }
  }

  /// Decodes a value of any other type. A property wrapper can be decoded, too:
  /// `_id = try fields.decode("id")` for a property `@DocumentID var id: String?`.
  public mutating func decode<Value: Decodable>(_ name: String) throws -> Value {
    switch fields {
    case .record(let fields): try fields.decode(Value.self, forKey: NameKey(name))
    case .map(let fields): try fields.decode(Value.self, forKey: NameKey(name))
    case .other(let fields): try fields.decode(Value.self, forKey: NameKey(name))
    }
  }

  // MARK: Optional fields

  // These methods return nil if the field does not exist or is null.

  /// Decodes a string; nil if the field does not exist or is null.
  public mutating func decodeIfPresent(_ name: String) throws -> String? {
    switch fields {
    case .record(let fields): try fields.decodeIfPresent(String.self, forKey: NameKey(name))
    case .map(let fields): try fields.decodeIfPresent(String.self, forKey: NameKey(name))
    case .other(let fields): try fields.decodeIfPresent(String.self, forKey: NameKey(name))
    }
  }

  /// Decodes a number as an integer; nil if the field does not exist or is null.
  public mutating func decodeIfPresent(_ name: String) throws -> Int? {
    switch fields {
    case .record(let fields): try fields.decodeIfPresent(Int.self, forKey: NameKey(name))
    case .map(let fields): try fields.decodeIfPresent(Int.self, forKey: NameKey(name))
    case .other(let fields): try fields.decodeIfPresent(Int.self, forKey: NameKey(name))
    }
  }

  /// Decodes a number; nil if the field does not exist or is null.
  public mutating func decodeIfPresent(_ name: String) throws -> Double? {
    switch fields {
    case .record(let fields): try fields.decodeIfPresent(Double.self, forKey: NameKey(name))
    case .map(let fields): try fields.decodeIfPresent(Double.self, forKey: NameKey(name))
    case .other(let fields): try fields.decodeIfPresent(Double.self, forKey: NameKey(name))
    }
  }

  /// Decodes a boolean; nil if the field does not exist or is null.
  public mutating func decodeIfPresent(_ name: String) throws -> Bool? {
    switch fields {
    case .record(let fields): try fields.decodeIfPresent(Bool.self, forKey: NameKey(name))
    case .map(let fields): try fields.decodeIfPresent(Bool.self, forKey: NameKey(name))
    case .other(let fields): try fields.decodeIfPresent(Bool.self, forKey: NameKey(name))
    }
  }

  /// Decodes a value of any other type; nil if the field does not exist or is null.
  public mutating func decodeIfPresent<Value: Decodable>(_ name: String) throws -> Value? {
    switch fields {
    case .record(let fields): try fields.decodeIfPresent(Value.self, forKey: NameKey(name))
    case .map(let fields): try fields.decodeIfPresent(Value.self, forKey: NameKey(name))
    case .other(let fields): try fields.decodeIfPresent(Value.self, forKey: NameKey(name))
    }
  }

  // MARK: Names

  /// Whether the field exists. It may be null.
  public mutating func contains(_ name: String) -> Bool {
    switch fields {
    case .record(let fields): fields.contains(NameKey(name))
    case .map(let fields): fields.contains(NameKey(name))
    case .other(let fields): fields.contains(NameKey(name))
    }
  }
}
