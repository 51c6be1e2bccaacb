// The check of contents: each content that a record names is verified against its digest.

package import ByteStore

/// Returns the contents that records name, with their locations. The upper layer implements this closure,
/// because it knows the record format. The closure is called after all entries were inspected, and may look
/// up values at the last commit.
package typealias BlobFinder = (
  _ value: ([UInt8]) throws(ByteStoreError) -> [UInt8]?
) throws(ByteStoreError) -> [(id: BlobID, place: BlobLocation)]

extension Check {
  mutating func checkBlobs() throws(ByteStoreError) {
    guard let find = upperLayer.findBlobs, hasTable else { return }
    let table = opened.table
    let found = try recordingDamage { _ throws(ByteStoreError) in
      try find { key throws(ByteStoreError) in try table.entry(of: key)?.value }
    }
    let blobs = BlobStore(store: directory.path, BlobStore.Options(), platform: platform)
    for (id, place) in found ?? [] {
      try recordingDamage { _ throws(ByteStoreError) in try blobs.verify(id, at: place) }
      advance(place.storedBytes, id.description)
    }
  }
}
