// An array that a commit can also add elements to or remove elements from.

import BallcapFields
import FirebaseFirestore

/// An array, or a change of the stored array.
public enum OperableArray<Element: Codable>: Codable, ExpressibleByArrayLiteral, RawRepresentable {
  public typealias RawValue = [Element]
  public typealias ArrayLiteralElement = Element

  /// The stored array.
  case value([Element])
  /// Removes all these elements from the stored array.
  case arrayRemove([Element])
  /// Adds each of these elements that the stored array does not contain yet.
  case arrayUnion([Element])

  public init?(rawValue: [Element]) { self = .value(rawValue) }

  public init(arrayLiteral elements: Element...) { self = .value(elements) }

  /// The array. Traps for `.arrayRemove` and `.arrayUnion`, which have no raw value.
  public var rawValue: [Element] {
    switch self {
    case .value(let elements): elements
    case .arrayRemove: fatalError("OperableArray.arrayRemove has no rawValue before the commit")
    case .arrayUnion: fatalError("OperableArray.arrayUnion has no rawValue before the commit")
    }
  }

  public init(from decoder: any Decoder) throws {
    self = .value(try decoder.singleValueContainer().decode([Element].self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .value(let elements): try container.encode(elements)
    case .arrayRemove(let elements): try container.encode(FieldValue.arrayRemove(Self.encoded(elements)))
    case .arrayUnion(let elements): try container.encode(FieldValue.arrayUnion(Self.encoded(elements)))
    }
  }

  /// Encodes each element like a field. If an array cannot hold a value, the encoding error is thrown here,
  /// where the error can still name the value.
  private static func encoded(_ elements: [Element]) throws -> [Any] {
    let encoded = try elements.compactMap { element in
      try Firestore.Encoder().encode(["element": element])["element"]
    }
    do throws(UserDataError) {
      _ = try UserData.fields(from: ["elements": encoded], in: nil)
    } catch {
      throw error.asEncodingError(of: elements)
    }
    return encoded
  }
}

extension OperableArray: Equatable where Element: Equatable {
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.value(let left), .value(let right)), (.arrayRemove(let left), .arrayRemove(let right)),
      (.arrayUnion(let left), .arrayUnion(let right)):
      left == right
    case (.value, _), (.arrayRemove, _), (.arrayUnion, _): false
    }
  }

  /// Whether the two differ.
  public static func != (left: Self, right: Self) -> Bool { !(left == right) }
}

extension OperableArray: Hashable where Element: Hashable {
  private var form: FieldForm<FieldForm<[Element], [Element]>, [Element]> {
    switch self {
    case .value(let elements): .value(elements)
    case .arrayRemove(let elements): .change(.change(elements))
    case .arrayUnion(let elements): .change(.value(elements))
    }
  }

  public func hash(into hasher: inout Hasher) { form.hash(into: &hasher) }
  public var hashValue: Int { form.hashValue }
  // swift-format-ignore: NoLeadingUnderscores
  public func _rawHashValue(seed: Int) -> Int { form._rawHashValue(seed: seed) }
}

extension OperableArray: Sendable where Element: Sendable {}

/// The elements of the array, or of the change.
extension OperableArray: Collection {
  private var elements: [Element] {
    switch self {
    case .value(let elements), .arrayRemove(let elements), .arrayUnion(let elements): elements
    }
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { elements.count }
  public func index(after index: Int) -> Int { index + 1 }
  public var isEmpty: Bool { elements.isEmpty }
  public var count: Int { elements.count }
  /// The first element of the array or of the change; nil if there is none.
  public var first: Element? { elements.first }
  /// The last element of the array or of the change; nil if there is none.
  public var last: Element? { elements.last }
  public subscript(index: Int) -> Element { elements[index] }
}
