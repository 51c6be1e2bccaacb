// A document for programs: every value says its type, as in Firestore's own REST form.

import DocumentStore
import FirebaseFirestore
import Foundation

enum DocumentJSON {
  static func object(of document: StoredDocument) -> JSON {
    // In the order in which they are written.
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
    // As text: many readers of JSON round large integers.
    case .integer(let value): ["integerValue": "\(value)"]
    case .double(let value): ["doubleValue": value]
    case .timestamp(let value): ["timestampValue": DocumentText.text(of: value)]
    case .pendingTimestamp(let value, nil): ["pendingTimestampValue": DocumentText.text(of: value)]
    // What the field had before is a part of it: readers may ask for that.
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

  /// A reference as an app without a project of its own writes it.
  static func ownReference(_ path: DocumentPath) -> StoredReference {
    StoredReference(inDefaultDatabase: path)
  }

  private static func text(of reference: StoredReference) -> String {
    // Earlier releases of this tool named neither.
    let isNameless = reference.projectID.isEmpty && reference.databaseID.isEmpty
    let reference = isNameless ? ownReference(reference.path) : reference
    return "projects/\(reference.projectID)/databases/\(reference.databaseID)/documents/\(reference.path)"
  }
}
