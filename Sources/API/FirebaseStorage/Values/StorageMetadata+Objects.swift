// Converts between metadata and the stored records of objects. All such conversions are in this file.

import DocumentStore
import Foundation
import ObjectStore
import ObjectSync
import OfflineSync

extension StorageMetadata {
  /// Creates the complete metadata of a stored object.
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
    markUnchanged()
  }

  /// Creates the metadata of an object that exists only at the remote.
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
    markUnchanged()
  }

  /// Creates metadata with the writable attributes only.
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

  /// The attributes that an upload stores with the object.
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

  /// The differences between the current values and the values that were read.
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
