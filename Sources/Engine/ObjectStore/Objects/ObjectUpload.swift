// Receives a content that is uploaded to an object.
//
// The first 1 MiB stays in memory. After that, or when the upload is paused, the content is staged in a file.
// A record names the object, so the upload can be resumed after a restart. The commit that creates the object
// removes the record. MD5, which the API requires in addition to the SHA-256 id of the content, is computed
// concurrently.

package import ByteStore
package import DocumentStore

/// The upload of one content to an object, for use by one thread at a time. The upload ends with a call of
/// `finish`, `cancel` or `leave`.
package final class ObjectUpload {
  package let path: ObjectPath
  package let source: UploadSource
  package var attributes: ObjectAttributes { didSet { isUpToDate = false } }

  private let objects: ObjectStore
  private let writer: BlobWriter
  private let md5: MD5Worker
  /// The start time in the upload's record; nil while the upload has no record.
  private var began: StoredTimestamp?
  /// Whether the upload's record contains the current attributes.
  private var isUpToDate: Bool

  fileprivate init(
    _ objects: ObjectStore, _ writer: BlobWriter, md5: MD5Worker, path: ObjectPath,
    source: UploadSource,
    attributes: ObjectAttributes, began: StoredTimestamp? = nil
  ) {
    self.began = began
    isUpToDate = began != nil
    self.objects = objects
    self.writer = writer
    self.md5 = md5
    self.path = path
    self.source = source
    self.attributes = attributes
  }

  /// Number of bytes received.
  package var byteCount: UInt64 { writer.byteCount }

  /// Number of bytes that would survive a power loss.
  package var bytesSynced: UInt64 { writer.bytesSynced }

  /// Reads back the next piece of the bytes that were staged before the upload was resumed. Returns nil at
  /// the end of these bytes, or at the first damaged piece. If this call throws, the only valid next calls
  /// are `cancel` and `leave`.
  package func rereadStaged() throws(DocumentStoreError) -> [UInt8]? {
    let piece = try translatingErrors { () throws(ByteStoreError) in try writer.rereadStaged() }
    if let piece { md5.update(piece) }
    return piece
  }

  /// Adds bytes to the content. May write, sync and commit. If this call throws, the only valid next call is
  /// `cancel`.
  package func append(_ bytes: [UInt8]) throws(DocumentStoreError) {
    md5.update(bytes)
    try translatingErrors { () throws(ByteStoreError) in try writer.append(bytes.rawSpan) }
    try record()
  }

  /// Makes the received bytes durable, except an incomplete chunk at the end, and writes the upload's record.
  package func persist() throws(DocumentStoreError) {
    try translatingErrors { () throws(ByteStoreError) in try writer.persist() }
    try record()
  }

  /// Makes the received bytes durable and closes the file until the upload is resumed.
  package func rest() throws(DocumentStoreError) {
    try translatingErrors { () throws(ByteStoreError) in try writer.rest() }
    try record()
  }

  private func record() throws(DocumentStoreError) {
    guard writer.isStaged, !isUpToDate else { return }
    let upload = StoredUpload(
      number: writer.number, path: path, attributes: attributes, began: began ?? objects.now, source: source)
    (began, isUpToDate) = (upload.began, true)
    try objects.store.commit([.set(UploadRecord.path(writer.number), UploadRecord.fields(upload))])
  }

  /// The number of the staged file.
  package var number: StagedNumber { writer.number }

  /// A unique name for the upload.
  var session: String { writer.number.description }

  /// Completes the upload. Returns the object once the object is durable with this content. `token` becomes
  /// the token in the object's download URL.
  package func finish(token: String) throws(DocumentStoreError) -> StoredObject {
    try finish(token: token, for: nil)
  }

  func finish(token: String, for queue: ObjectQueue?) throws(DocumentStoreError) -> StoredObject {
    let blob = try translatingErrors { () throws(ByteStoreError) in try writer.finish() }
    let new = StoredObject(blob, md5: md5.digest, at: path, attributes: attributes, tokens: [token])
    let object = try objects.put(
      blob, new, endsUpload: began == nil ? nil : writer.number, for: queue)
    leave()
    return object
  }

  /// Removes everything.
  package func cancel() {
    writer.abandon()
    if began != nil { _ = try? objects.store.commit([.delete(UploadRecord.path(writer.number))]) }
    leave()
  }

  /// Ends the use of this instance, but keeps the staged bytes until they expire, so that the upload can be
  /// resumed.
  package func leave() { objects.state.uploads.end(writer.number) }
}

extension ObjectStore {
  /// The maximum age of an upload in seconds. A sweep removes older uploads.
  package static let uploadSecondsMax: Int64 = 7 * 24 * 60 * 60

  /// The present time of a clock that does not jump while the store is open.
  var now: StoredTimestamp {
    StoredTimestamp(microseconds: state.microseconds(store.clock)) ?? .epoch
  }

  package func upload(
    to path: ObjectPath, from source: UploadSource, attributes: ObjectAttributes
  ) -> ObjectUpload {
    let writer = blobs.writer()
    // The number is new, so this call cannot fail.
    _ = state.uploads.begin(writer.number)
    return ObjectUpload(self, writer, md5: MD5Worker(), path: path, source: source, attributes: attributes)
  }

  /// The partly staged uploads to an object, including active ones. Reads only the uploads to objects of the
  /// same name, in any bucket.
  package func uploads(to path: ObjectPath) throws(DocumentStoreError) -> [StoredUpload] {
    try store.documents(
      StructuredQuery(.collection(ReservedPath.allUploads))
        .filtered(by: .field(UploadRecord.nameField, .equal, .string(path.name.text)))
    ).compactMap(UploadRecord.upload).filter { $0.path == path }
  }

  /// All partly staged uploads, including active ones.
  package func uploads(
    inBucket bucket: String? = nil
  ) throws(DocumentStoreError) -> [StoredUpload] {
    try store.documents(StructuredQuery(.collection(ReservedPath.allUploads)))
      .compactMap(UploadRecord.upload)
      .filter { upload in bucket.map { $0.isSameUTF8(as: upload.path.bucket) } ?? true }
  }

  /// Whether a thread is working on the upload.
  package func isActive(_ number: StagedNumber) -> Bool {
    state.uploads.isActive(number)
  }

  /// Resumes an upload that was left or interrupted. The caller must read back the staged bytes with
  /// `rereadStaged` before it appends anything. Returns nil if the staged data no longer exists, or if
  /// another thread is working on the upload.
  package func resume(with stored: StoredUpload) throws(DocumentStoreError) -> ObjectUpload? {
    guard state.uploads.begin(stored.number) else { return nil }
    do throws(ByteStoreError) {
      if let writer = try blobs.resume(stored.number) {
        return ObjectUpload(
          self, writer, md5: MD5Worker(), path: stored.path, source: stored.source,
          attributes: stored.attributes, began: stored.began)
      }
    } catch {
      state.uploads.end(stored.number)
      throw DocumentStoreError(error)
    }
    state.uploads.end(stored.number)
    return nil
  }

  /// Resumes an upload and reads back all staged bytes at once. Passes the bytes to `body`, which can compare
  /// or count them.
  package func resume(
    _ stored: StoredUpload, _ body: ([UInt8]) -> Void
  ) throws(DocumentStoreError) -> ObjectUpload? {
    guard let upload = try resume(with: stored) else { return nil }
    do throws(DocumentStoreError) {
      while let piece = try upload.rereadStaged() { body(piece) }
      return upload
    } catch {
      upload.leave()
      throw error
    }
  }

  /// Removes an upload. Returns false if a thread is working on the upload.
  @discardableResult
  package func cancel(_ upload: StoredUpload) throws(DocumentStoreError) -> Bool {
    let isRemoved = try state.uploads.withClaim(upload.number) { () throws(DocumentStoreError) in
      try store.commit([.delete(UploadRecord.path(upload.number))])
      blobs.discardStaged(upload.number)
      return true
    }
    return isRemoved == true
  }
}
