// The property that knows the id of its document.

private import Foundation

/// What can be made from the reference of a document.
public protocol DocumentIDWrappable {
  /// What stands for the document in the property.
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

/// Filled with the id of the document that its value was read from, and never written.
///
///     struct Book: Codable {
///       @DocumentID var id: String?
///       var title: String
///     }
///
/// A field with the name of the property is ignored. Decoding throws
/// `FirestoreDecodingError.decodingIsNotSupported` where no document is known, encoding with another
/// encoder than `Firestore.Encoder` throws `FirestoreEncodingError.encodingIsNotSupported`.
@propertyWrapper
public struct DocumentID<Value: DocumentIDWrappable & Codable>: Codable {
  /// Nil if the value was not read from a document.
  public var wrappedValue: Value?

  /// A value given here is readable, and that is all: the log says so.
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

/// Properties that are decoded without a field.
protocol DocumentIDProperty {
  init(of document: DocumentReference) throws
}

extension DocumentID: DocumentIDProperty {
  init(of document: DocumentReference) throws { wrappedValue = try Value.wrap(document) }
}
