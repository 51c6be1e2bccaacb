// Objects of a remote and objects of a store: the same, but for what each keeps for itself.

internal import ByteStore
package import DocumentStore

extension RemoteObject {
  init(_ object: StoredObject) {
    self.init(
      bucket: object.path.bucket, name: object.path.name.text, byteCount: object.byteCount,
      generation: object.remoteGeneration ?? 0)
    attributes = object.attributes
    md5 = object.md5
    downloadTokens = object.tokens
  }

  package var standing: ObjectStanding {
    ObjectStanding(
      generation: generation, metageneration: metageneration > 0 ? metageneration : nil, made: created,
      changed: updated ?? created)
  }

  package var attributes: ObjectAttributes {
    get {
      var attributes = ObjectAttributes()
      attributes.contentType = contentType
      attributes.cacheControl = cacheControl
      attributes.contentDisposition = contentDisposition
      attributes.contentEncoding = contentEncoding
      attributes.contentLanguage = contentLanguage
      attributes.custom = customMetadata
      return attributes
    }
    set {
      contentType = newValue.contentType
      cacheControl = newValue.cacheControl
      contentDisposition = newValue.contentDisposition
      contentEncoding = newValue.contentEncoding
      contentLanguage = newValue.contentLanguage
      customMetadata = newValue.custom
    }
  }
}

extension StoredObject {
  /// With all that a remote says of the same content.
  func described(by object: RemoteObject) -> StoredObject {
    let standing = object.standing
    var described = self
    described.attributes = object.attributes
    described.metageneration = standing.metageneration ?? metageneration + 1
    described.made = standing.made ?? made
    described.changed = standing.changed ?? changed
    return described
  }
}
