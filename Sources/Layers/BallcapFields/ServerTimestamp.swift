// A field that the commit sets to the commit time. `Ballcap` re-exports the type by name (Ballcap's
// ServerTimestamp+Export.swift).

public import FirebaseFirestore

/// A timestamp that the commit sets, or a known timestamp.
///
/// `FirebaseFirestore` has a property wrapper with the same name. In a file that imports `Ballcap`, the bare
/// name is this type, even if the file also imports Firestore. In such a file, the wrapper is
/// `@FirebaseFirestore.ServerTimestamp`.
public enum ServerTimestamp: Codable, RawRepresentable, Sendable {
  public typealias RawValue = Timestamp

  /// Written as the time of the commit.
  case pending
  /// A known timestamp.
  case resolved(Timestamp)

  public init?(rawValue: Timestamp) { self = .resolved(rawValue) }

  /// The timestamp. Traps for `.pending`, which has no raw value.
  public var rawValue: Timestamp {
    switch self {
    case .resolved(let timestamp): timestamp
    case .pending: fatalError("ServerTimestamp.pending has no rawValue before the commit")
    }
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self = container.decodeNil() ? .pending : .resolved(try container.decode(Timestamp.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .pending: try container.encode(FieldValue.serverTimestamp())
    case .resolved(let timestamp): try container.encode(timestamp)
    }
  }
}

extension ServerTimestamp: Hashable {
  private var form: FieldForm<Int, Timestamp> {
    switch self {
    case .pending: .change(0)
    case .resolved(let timestamp): .value(timestamp)
    }
  }

  public static func == (left: Self, right: Self) -> Bool { left.form == right.form }
  /// Whether the two differ.
  public static func != (left: Self, right: Self) -> Bool { left.form != right.form }
  public func hash(into hasher: inout Hasher) { form.hash(into: &hasher) }
  public var hashValue: Int { form.hashValue }
  // swift-format-ignore: NoLeadingUnderscores
  public func _rawHashValue(seed: Int) -> Int { form._rawHashValue(seed: seed) }
}
