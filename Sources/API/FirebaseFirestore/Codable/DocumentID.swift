// A property wrapper for the ID of a document.

private import Foundation

/// A type that can be created from a document reference.
public protocol DocumentIDWrappable {
  /// Returns the property's value for a document.
  static func wrap(_ documentReference: DocumentReference) throws -> Self
}

extension String: DocumentIDWrappable {
  public static func wrap(_ documentReference: DocumentReference) -> String { documentReference.documentID }
}

extension DocumentReference: DocumentIDWrappable {
  public static func wrap(_ documentReference: DocumentReference) throws -> Self {
    guard let wrapped = documentReference as? Self else {
      throw FirestoreDecodingError.decodingIsNotSupported("\(Self.self) is not the type of references")
    }
    return wrapped
  }
}

/// A property that is set to the ID of the document that its value was read from. It is never written.
///
///     struct Book: Codable {
///       @DocumentID var id: String?
///       var title: String
///     }
///
/// A field with the name of the property is ignored. Decoding throws
/// `FirestoreDecodingError.decodingIsNotSupported` if the document is unknown. Encoding with an encoder
/// other than `Firestore.Encoder` throws `FirestoreEncodingError.encodingIsNotSupported`.
@propertyWrapper
public struct DocumentID<Value: DocumentIDWrappable & Codable>: Codable {
  /// The ID; nil if the property was not decoded from a document.
  public var wrappedValue: Value?

  /// Creates a property with a given value. Logs a warning if the value is not nil, because the value is
  /// never written.
  public init(wrappedValue value: Value?) {
    wrappedValue = value
    guard let value else { return }
    CodingLog.warn(
      "I-FST000002",
      "A @DocumentID property was initialized with the value \"\(value)\". It is not written to the "
        + "document; reading the document replaces it with the document's id.")
  }

  public init(from decoder: any Decoder) throws {
    guard let reference = (decoder as? ValueDecoder)?.options.reference else {
      throw FirestoreDecodingError.decodingIsNotSupported(
        "DocumentID values can only be decoded with Firestore.Decoder from a document")
    }
    wrappedValue = try Value.wrap(reference)
  }

  public func encode(to encoder: any Encoder) throws {
    if let encoder = encoder as? RecordValueEncoder { return encoder.omit() }
    guard let encoder = encoder as? ValueEncoder else {
      throw FirestoreEncodingError.encodingIsNotSupported(
        "DocumentID values can only be encoded with Firestore.Encoder")
    }
    encoder.omit()
  }
}

extension DocumentID: Equatable where Value: Equatable {}

extension DocumentID: Hashable where Value: Hashable {}

extension DocumentID: Sendable where Value: Sendable {}

/// A property that is decoded from the document reference and needs no field.
protocol DocumentIDProperty {
  init(of document: DocumentReference) throws
}

extension DocumentID: DocumentIDProperty {
  init(of document: DocumentReference) throws { wrappedValue = try Value.wrap(document) }
}
