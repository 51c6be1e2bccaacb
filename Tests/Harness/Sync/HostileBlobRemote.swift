// An object server that returns invalid data.

import DocumentStore
import ObjectSync
import OfflineSync

final class HostileBlobRemote: BlobRemote, @unchecked Sendable {
  // The conformance is unchecked, because the mutable state has no lock. A history uses a remote only from
  // one thread.
  private let inner: LoopbackBlobRemote
  private var invalidSource: InvalidDataGenerator
  var invalidOneIn: Int?

  init(_ inner: LoopbackBlobRemote, seed: UInt64) {
    self.inner = inner
    invalidSource = InvalidDataGenerator(seed: seed)
  }

  var sentCounts: [InvalidField: Int] { invalidSource.sentCounts }

  private var isInvalidDue: Bool { invalidOneIn.map { invalidSource.random.oneIn($0) } ?? false }

  private func falsified(_ object: RemoteObject) -> RemoteObject {
    guard isInvalidDue else { return object }
    var forged = object
    if invalidSource.random.oneIn(2) {
      invalidSource.note(.objectMetadata)
      let long = String(repeating: "x", count: invalidSource.random.oneIn(8) ? 9 << 20 : 5000)
      switch invalidSource.random.below(6) {
      case 0: forged.contentType = long
      case 1: forged.customMetadata = ["k": long + long]
      case 2: forged.md5 = [UInt8](repeating: 1, count: [1, 15, 17, 1 << 20][invalidSource.random.below(4)])
      case 3: forged.downloadTokens = [String](repeating: long, count: 3)
      case 4: forged.contentLanguage = long
      default: forged.name = long
      }
    } else {
      invalidSource.note(.objectNumbers)
      switch invalidSource.random.below(4) {
      case 0: forged.metageneration = [Int64.max, .min, -1][invalidSource.random.below(3)]
      case 1: forged.generation = [Int64.max, .min, -1, 0][invalidSource.random.below(4)]
      case 2: forged.byteCount = [UInt64.max, 0, UInt64(Int64.max)][invalidSource.random.below(3)]
      default:
        forged.updated = StoredTimestamp(seconds: StoredTimestamp.secondsRange.upperBound, nanoseconds: 0)
      }
    }
    return forged
  }

  func offset(ofUpload id: String) throws(BlobRemoteError) -> UInt64 { try inner.offset(ofUpload: id) }

  func append(_ bytes: [UInt8], at offset: UInt64, toUpload id: String) throws(BlobRemoteError) {
    try inner.append(bytes, at: offset, toUpload: id)
  }

  func finish(upload id: String, as object: RemoteObject) throws(BlobRemoteError) -> RemoteObject {
    falsified(try inner.finish(upload: id, as: object))
  }

  func abandon(upload id: String) throws(BlobRemoteError) { try inner.abandon(upload: id) }

  func object(bucket: String, name: String) throws(BlobRemoteError) -> RemoteObject {
    falsified(try inner.object(bucket: bucket, name: name))
  }

  func list(
    bucket: String, below prefix: String, after last: String?, count: Int
  ) throws(BlobRemoteError) -> RemoteListing {
    let truth = try inner.list(bucket: bucket, below: prefix, after: last, count: count)
    guard isInvalidDue else { return truth }
    invalidSource.note(.objectList)
    let names = ["", "/", "..", "elsewhere/a", (last ?? prefix) + "~", String(repeating: "n", count: 3000)]
    return RemoteListing(
      truth.entries + [names[invalidSource.random.below(names.count)]], isLast: invalidSource.random.oneIn(2))
  }

  func read(_ object: RemoteObject, from offset: UInt64, count: Int) throws(BlobRemoteError) -> [UInt8] {
    try inner.read(object, from: offset, count: count)
  }

  func update(_ object: RemoteObject) throws(BlobRemoteError) -> RemoteObject {
    falsified(try inner.update(object))
  }

  func delete(bucket: String, name: String) throws(BlobRemoteError) {
    try inner.delete(bucket: bucket, name: name)
  }
}
