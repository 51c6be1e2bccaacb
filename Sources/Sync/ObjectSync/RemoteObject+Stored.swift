// Conversions between a remote's objects and a store's objects.

internal import ByteStore
import DocumentStore
package import ObjectStore
import OfflineSync

extension RemoteObject {
  init(_ object: StoredObject) {
    self.init(
      bucket: object.path.bucket, name: object.path.name.text, byteCount: object.byteCount,
      generation: object.remoteGeneration ?? 0)
    attributes = object.attributes
    md5 = object.md5
    downloadTokens = object.tokens
  }

  package var reportedMetadata: RemoteObjectMetadata {
    RemoteObjectMetadata(
      generation: generation, metageneration: metageneration > 0 ? metageneration : nil, contentTime: created,
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

extension RemoteObject {
  /// The maximum total size of an object's download tokens, in bytes.
  private static let tokenBytesMax = 8 << 10

  /// Throws `rejected` if the remote's metadata exceeds the limits of a stored object, or if its MD5 has the
  /// wrong length.
  func check() throws(BlobRemoteError) {
    do throws(DocumentStoreError) { try attributes.check() } catch { throw refusal(error.description) }
    guard md5.isEmpty || md5.count == 16 else {
      throw refusal("Its MD5 has \(md5.count) bytes, and not 16.")
    }
    let bytes = downloadTokens.reduce(0) { $0 + $1.utf8.count + 1 }
    guard bytes <= Self.tokenBytesMax else {
      throw refusal("Its download tokens have \(bytes) bytes, and the limit is \(Self.tokenBytesMax).")
    }
  }

  private func refusal(_ reason: String) -> BlobRemoteError {
    .rejected("The remote sent invalid properties of an object. \(reason)")
  }
}

extension StoredObject {
  /// Returns this object with the metadata of `object`, which is the remote's version with the same content.
  func described(by object: RemoteObject) -> StoredObject {
    let reportedMetadata = object.reportedMetadata
    var described = self
    described.attributes = object.attributes
    described.incrementMetageneration()
    described.metageneration = reportedMetadata.metageneration ?? described.metageneration
    described.contentTime = reportedMetadata.contentTime ?? contentTime
    described.changed = reportedMetadata.changed ?? changed
    return described
  }
}
