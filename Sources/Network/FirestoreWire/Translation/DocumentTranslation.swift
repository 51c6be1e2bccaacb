// Documents of messages, and documents of the engine.

package import DocumentStore
package import OfflineSync

extension DatabaseName {
  /// The message for a document, with the fields of a mask; nil for all fields.
  package func wire(_ document: StoredDocument, mask: FieldMask? = nil) -> Wire.Document {
    var wire = Wire.Document(name: name(of: document.path), fields: document.fields.projected(mask))
    wire.createTime = Wire.Timestamp(document.createTime)
    wire.updateTime = Wire.Timestamp(document.updateTime)
    return wire
  }

  /// The message for an existing document of a remote.
  package func wire(_ document: RemoteDocument) -> Wire.Document {
    var wire = Wire.Document(name: name(of: document.path), fields: document.fields ?? StoredMap())
    wire.createTime = document.createTime == .none ? nil : Wire.Timestamp(document.createTime.stored)
    wire.updateTime = Wire.Timestamp(document.version.stored)
    return wire
  }

  /// Reads an existing document.
  package func document(_ wire: Wire.Document) throws(RemoteError) -> RemoteDocument {
    try wire.checkStored()
    return RemoteDocument(
      try path(of: wire.name), wire.fields, version: SnapshotVersion(wire.updateTime),
      createTime: SnapshotVersion(wire.createTime))
  }
}

extension StoredMap {
  /// The fields in a mask; nil for all fields.
  package func projected(_ mask: FieldMask?) -> StoredMap {
    guard let mask else { return self }
    return selecting(mask.paths)
  }
}

extension SnapshotVersion {
  /// The version of a time; `none` if the time is absent or not a time of the years 1 to 9999.
  package init(_ time: Wire.Timestamp?) {
    guard let stored = time?.stored else {
      self = .none
      return
    }
    self.init(stored)
  }
}
