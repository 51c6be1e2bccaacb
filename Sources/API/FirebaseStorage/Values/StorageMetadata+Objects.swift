// Metadata and the records of objects: the one way there and back.

import DocumentStore
import Foundation
import ObjectStore
import ObjectSync
import OfflineSync

extension StorageMetadata {
  /// All that is known about an object.
  convenience init(_ object: StoredObject) {
    self.init()
    bucket = object.path.bucket
    path = object.path.name.text
    set(object.attributes)
    md5Hash = Data(object.md5).base64EncodedString()
    generation = object.generation
    metageneration = object.metageneration
    size = Int64(clamping: object.byteCount)
    timeCreated = Timestamp(object.contentTime).dateValue()
    updated = Timestamp(object.changed).dateValue()
    kind = .file
    markAsKnown()
  }

  /// What a remote knows about an object that is not here.
  convenience init(_ object: RemoteObject) {
    self.init()
    bucket = object.bucket
    path = object.name
    set(object.attributes)
    if !object.md5.isEmpty { md5Hash = Data(object.md5).base64EncodedString() }
    generation = object.generation
    metageneration = object.metageneration
    size = Int64(clamping: object.byteCount)
    timeCreated = object.created.map { Timestamp($0).dateValue() }
    updated = (object.updated ?? object.created).map { Timestamp($0).dateValue() }
    kind = .file
    markAsKnown()
  }

  /// Only what its owner says about an object.
  convenience init(_ attributes: ObjectAttributes) {
    self.init()
    set(attributes)
  }

  private func set(_ attributes: ObjectAttributes) {
    cacheControl = attributes.cacheControl
    contentDisposition = attributes.contentDisposition
    contentEncoding = attributes.contentEncoding
    contentLanguage = attributes.contentLanguage
    contentType = attributes.contentType
    customMetadata = attributes.custom.isEmpty ? nil : attributes.custom
  }

  /// For an upload.
  var attributes: ObjectAttributes {
    var attributes = ObjectAttributes()
    attributes.cacheControl = cacheControl
    attributes.contentDisposition = contentDisposition
    attributes.contentEncoding = contentEncoding
    attributes.contentLanguage = contentLanguage
    attributes.contentType = contentType
    attributes.custom = customMetadata ?? [:]
    return attributes
  }

  /// Changes what differs from what this metadata was made from.
  var update: AttributeChanges {
    var changes = AttributeChanges()
    for field in WritableText.allCases where initial.texts[field] != settable.texts[field] {
      changes.set(field, settable.texts[field])
    }
    changes.clearsCustom = initial.custom != nil && settable.custom == nil
    let (before, after) = (initial.custom ?? [:], settable.custom ?? [:])
    for name in before.keys where after[name] == nil { changes.setCustom(name, nil) }
    for (name, value) in after where before[name] != value { changes.setCustom(name, value) }
    return changes
  }
}
