// Writes the fields of a type that is `FirestoreRecordEncodable`.

private import FirebaseCore
private import Foundation

/// The fields of a document or of a map, written by name.
///
/// Writing the fields in the same order for every document is fastest. All methods throw the errors of a
/// keyed container with the field's name as key.
public struct FieldWriter: ~Copyable {
  private var fields: Fields

  private enum Fields {
    /// The encoder that writes a record, and the serial number of the map.
    case record(RecordValueEncoder, Int)
    /// The fields of a tree, or of another module's encoder.
    case other(KeyedEncodingContainer<NameKey>)
  }

  init(_ encoder: any Encoder) {
    if let encoder = encoder as? RecordValueEncoder {
      fields = .record(encoder, encoder.beginMap())
    } else {
      fields = .other(encoder.container(keyedBy: NameKey.self))
    }
  }

  /// Whether the fields are written straight into the bytes of a document. For tests.
  package var writesRecord: Bool {
    if case .record = fields { true } else { false }
  }

  /// Writes a string.
  public mutating func encode(_ value: String, as name: String) throws {
    switch fields {
    case .record(let encoder, let serial): encoder.encode(value, name, in: serial)
    case .other(var container): try container.encode(value, forKey: NameKey(name))
    }
  }

  /// Writes an integer.
  public mutating func encode(_ value: Int, as name: String) throws {
    switch fields {
    case .record(let encoder, let serial): encoder.encode(Int64(value), name, in: serial)
    case .other(var container): try container.encode(value, forKey: NameKey(name))
    }
  }

  /// Writes a number.
  public mutating func encode(_ value: Double, as name: String) throws {
    switch fields {
    case .record(let encoder, let serial): try encoder.encode(value, name, in: serial)
    case .other(var container): try container.encode(value, forKey: NameKey(name))
    }
  }

  /// Writes a boolean.
  public mutating func encode(_ value: Bool, as name: String) throws {
    switch fields {
    case .record(let encoder, let serial): encoder.encode(value, name, in: serial)
    case .other(var container): try container.encode(value, forKey: NameKey(name))
    }
  }

  /// Writes a value of any other type. A property wrapper can be written, too: `try fields.encode(_sent, as:
  /// "sent")` for a property `@ServerTimestamp var sent: Date?`.
  public mutating func encode(_ value: some Encodable, as name: String) throws {
    switch fields {
    case .record(let encoder, let serial): try encoder.encode(value, name, key: NameKey(name), in: serial)
    case .other(var container): try container.encode(value, forKey: NameKey(name))
    }
  }

  /// Writes null.
  public mutating func encodeNil(as name: String) throws {
    switch fields {
    case .record(let encoder, let serial): encoder.encodeNil(name, serial)
    case .other(var container): try container.encodeNil(forKey: NameKey(name))
    }
  }

  /// Writes a value, or no field if there is no value.
  public mutating func encodeIfPresent<Value: Encodable>(_ value: Value?, as name: String) throws {
    if let value { try encode(value, as: name) }
  }
}
