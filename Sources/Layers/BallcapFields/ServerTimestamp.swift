// A field that the commit sets to its own time. `Ballcap` re-exports it by name (ServerTimestamp+Export.swift
// there).

public import FirebaseFirestore

/// A moment that the commit decides, or one that is known.
///
/// `FirebaseFirestore` has a property wrapper of the same name. A file that imports `Ballcap` means this
/// type, whether it imports Firestore as well or not. There the wrapper is
/// `@FirebaseFirestore.ServerTimestamp`.
public enum ServerTimestamp: Codable, RawRepresentable, Sendable {
  public typealias RawValue = Timestamp

  /// Written as the time of the commit.
  case pending
  /// What the server's clock said.
  case resolved(Timestamp)

  public init?(rawValue: Timestamp) { self = .resolved(rawValue) }

  /// Traps for `.pending`, which has none.
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
