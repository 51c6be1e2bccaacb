// A content on its way to an object.
//
// The first 1 MiB stays in memory. From then on, or when the upload is paused, what has come is staged in a file, and
// a record says what it is for: so it can be gone on with after a restart. The commit that makes the object removes
// the record. MD5, which the API promises beside the digest that names the content, is computed beside it.

package import ByteStore
package import DocumentStore

/// For one thread at a time. Ends with `finish`, `cancel` or `leave`.
package final class ObjectUpload {
  package let path: ObjectPath
  package let source: UploadSource
  package var attributes: ObjectAttributes { didSet { isUpToDate = false } }

  private let objects: ObjectStore
  private let writer: BlobWriter
  private let md5: MD5Worker
  /// When its record says that it began; nil as long as it has none.
  private var began: StoredTimestamp?
  /// The record has the attributes.
  private var isUpToDate: Bool

  fileprivate init(
    _ objects: ObjectStore, _ writer: BlobWriter, _ md5: MD5Worker, _ path: ObjectPath,
    _ source: UploadSource,
    _ attributes: ObjectAttributes, began: StoredTimestamp? = nil
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

  /// Of the content, so far.
  package var byteCount: UInt64 { writer.byteCount }

  /// What would survive a power loss.
  package var bytesSynced: UInt64 { writer.bytesSynced }

  /// The next piece of what was staged before; nil once there is no more, or no sound one. If it throws, `cancel` or
  /// `leave` is all that is left to do.
  package func regain() throws(DocumentStoreError) -> [UInt8]? {
    var piece: [UInt8]?
    try wrapped { writer throws(ByteStoreError) in piece = try writer.regain() }
    if let piece { md5.update(piece) }
    return piece
  }

  /// May write, sync and commit. If it throws, `cancel` is all that is left to do.
  package func append(_ bytes: [UInt8]) throws(DocumentStoreError) {
    md5.update(bytes)
    try wrapped { writer throws(ByteStoreError) in try writer.append(bytes.rawSpan) }
    try record()
  }

  /// Puts what has come on stable storage, but for less than a chunk, with the record of the upload.
  package func persist() throws(DocumentStoreError) {
    try wrapped { writer throws(ByteStoreError) in try writer.persist() }
    try record()
  }

  /// The same, and no file of it is open until it is gone on with.
  package func rest() throws(DocumentStoreError) {
    try wrapped { writer throws(ByteStoreError) in try writer.rest() }
    try record()
  }

  private func record() throws(DocumentStoreError) {
    guard writer.isStaged, !isUpToDate else { return }
    let upload = StoredUpload(
      number: writer.number, path: path, attributes: attributes, began: began ?? objects.now, source: source)
    (began, isUpToDate) = (upload.began, true)
    try objects.store.commit([.set(UploadRecord.path(writer.number), UploadRecord.fields(upload))])
  }

  /// Under which what comes of it is staged.
  package var number: StagedNumber { writer.number }

  /// A name for it that nobody else has.
  var session: String { writer.number.description }

  /// The object, once it is durable with this content. `token` is for its download URL.
  package func finish(token: String) throws(DocumentStoreError) -> StoredObject {
    try finish(token: token, for: nil)
  }

  func finish(token: String, for queue: ObjectQueue?) throws(DocumentStoreError) -> StoredObject {
    var blob: FinishedBlob?
    try wrapped { writer throws(ByteStoreError) in blob = try writer.finish() }
    guard let blob else { preconditionFailure("a content that is finished") }
    let object = try objects.put(
      blob, md5: md5.digest, at: path, attributes, token: token,
      endsUpload: began == nil ? nil : writer.number, for: queue)
    leave()
    return object
  }

  /// Leaves nothing of it.
  package func cancel() {
    writer.abandon()
    if began != nil { _ = try? objects.store.commit([.delete(UploadRecord.path(writer.number))]) }
    leave()
  }

  /// Leaves what is staged for somebody who goes on with it, until it is too old.
  package func leave() { objects.state.uploads.end(writer.number) }

  private func wrapped(
    _ body: (BlobWriter) throws(ByteStoreError) -> Void
  ) throws(DocumentStoreError) {
    do throws(ByteStoreError) { try body(writer) } catch { throw DocumentStoreError(error) }
  }
}

extension ObjectStore {
  /// What is older is swept.
  package static let uploadSecondsMax: Int64 = 7 * 24 * 60 * 60

  /// By a clock that does not jump while the store is open.
  var now: StoredTimestamp {
    StoredTimestamp(microseconds: state.microseconds(store.clock)) ?? .epoch
  }

  package func upload(
    to path: ObjectPath, from source: UploadSource, _ attributes: ObjectAttributes
  ) -> ObjectUpload {
    let writer = blobs.writer()
    // The number is a new one.
    _ = state.uploads.begin(writer.number)
    return ObjectUpload(self, writer, MD5Worker(), path, source, attributes)
  }

  /// Uploads to an object of which a part is staged, those under way among them: no others are read.
  package func uploads(to path: ObjectPath) throws(DocumentStoreError) -> [StoredUpload] {
    try store.documents(
      StructuredQuery(.collection(ReservedPath.allUploads))
        .filtered(by: .field(UploadRecord.nameField, .equal, .string(path.name.text)))
    ).compactMap(UploadRecord.upload).filter { $0.path == path }
  }

  /// Uploads of which a part is staged, those under way among them.
  package func uploads(
    inBucket bucket: String? = nil
  ) throws(DocumentStoreError) -> [StoredUpload] {
    try store.documents(StructuredQuery(.collection(ReservedPath.allUploads)))
      .compactMap(UploadRecord.upload)
      .filter { upload in bucket.map { $0.isSameUTF8(as: upload.path.bucket) } ?? true }
  }

  /// Whether somebody works at an upload.
  package func isActive(_ number: StagedNumber) -> Bool {
    state.uploads.isActive(number)
  }

  /// Goes on with an upload that was left, or cut off: what is staged is regained piece by piece before anything is
  /// appended. Nil if nothing is left of it, or somebody works at it.
  package func goOn(with stored: StoredUpload) throws(DocumentStoreError) -> ObjectUpload? {
    guard state.uploads.begin(stored.number) else { return nil }
    do throws(ByteStoreError) {
      if let writer = try blobs.resume(stored.number) {
        return ObjectUpload(
          self, writer, MD5Worker(), stored.path, stored.source, stored.attributes, began: stored.began)
      }
    } catch {
      state.uploads.end(stored.number)
      throw DocumentStoreError(error)
    }
    state.uploads.end(stored.number)
    return nil
  }

  /// The same with all that is staged regained at once; `body` gets it, to compare or to count.
  package func resume(
    _ stored: StoredUpload, _ body: ([UInt8]) -> Void
  ) throws(DocumentStoreError) -> ObjectUpload? {
    guard let upload = try goOn(with: stored) else { return nil }
    do throws(DocumentStoreError) {
      while let piece = try upload.regain() { body(piece) }
      return upload
    } catch {
      upload.leave()
      throw error
    }
  }

  /// Leaves nothing of an upload that nobody works at. False if somebody does.
  @discardableResult
  package func cancel(_ upload: StoredUpload) throws(DocumentStoreError) -> Bool {
    let isGone = try state.uploads.claiming(upload.number) { () throws(DocumentStoreError) in
      try store.commit([.delete(UploadRecord.path(upload.number))])
      blobs.discardStaged(upload.number)
      return true
    }
    return isGone == true
  }
}
