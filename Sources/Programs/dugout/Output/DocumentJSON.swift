// The JSON format of documents: each value states its type, as in Firestore's REST API.

import DocumentStore
import FirebaseFirestore
import Foundation

enum DocumentJSON {
  static func object(of document: StoredDocument) -> JSON {
    // In output order.
    [
      "createTime": DocumentText.text(of: document.createTime),
      "fields": object(of: document.fields),
      "path": document.path.description,
      "updateTime": DocumentText.text(of: document.updateTime),
    ]
  }

  private static func object(of map: StoredMap) -> JSON {
    .object(map.entries.map { JSON.Member(name: $0.name, value: object(of: $0.value)) })
  }

  static func object(of value: StoredValue) -> JSON {
    switch value {
    case .null: ["nullValue": JSON.null]
    case .boolean(let value): ["booleanValue": value]
    // Written as a string, because many JSON readers round large integers.
    case .integer(let value): ["integerValue": "\(value)"]
    case .double(let value): ["doubleValue": value]
    case .timestamp(let value): ["timestampValue": DocumentText.text(of: value)]
    case .pendingTimestamp(let value, nil): ["pendingTimestampValue": DocumentText.text(of: value)]
    // Readers can request the previous value, so it is exported with the field.
    case .pendingTimestamp(let value, let previous?):
      [
        "pendingTimestampValue": DocumentText.text(of: value), "previousValue": object(of: previous),
      ]
    case .string(let value): ["stringValue": value]
    case .bytes(let value): ["bytesValue": Data(value).base64EncodedString()]
    case .reference(let value): ["referenceValue": text(of: value)]
    case .geoPoint(let value):
      ["geoPointValue": ["latitude": value.latitude, "longitude": value.longitude] as JSON]
    case .array(let values): ["arrayValue": ["values": values.map(object(of:))] as JSON]
    case .vector(let values): ["vectorValue": values]
    case .map(let map): ["mapValue": ["fields": object(of: map)] as JSON]
    }
  }

  /// Returns a reference in the form that an app without its own project writes.
  static func ownReference(_ path: DocumentPath) -> StoredReference {
    StoredReference(inDefaultDatabase: path)
  }

  /// The project of references that an app without its own project writes.
  static var ownProject: String { StoredReference(inDefaultDatabase: DocumentPath(unchecked: [])).projectID }

  private static func text(of reference: StoredReference) -> String {
    // Earlier releases of this tool wrote neither project nor database.
    let isNameless = reference.projectID.isEmpty && reference.databaseID.isEmpty
    let reference = isNameless ? ownReference(reference.path) : reference
    return "projects/\(reference.projectID)/databases/\(reference.databaseID)/documents/\(reference.path)"
  }
}
