// Looking at contents: each that a record names, against its name.

package import ByteStore

/// Says which contents the records name, and where; the layer above knows the records. It is asked once all entries
/// were inspected, and may look up the values of keys as of the last commit.
package typealias BlobFinder = (
  _ value: ([UInt8]) throws(ByteStoreError) -> [UInt8]?
) throws(ByteStoreError) -> [(id: BlobID, place: BlobPlace)]

extension Check {
  mutating func checkBlobs(_ find: BlobFinder?) throws(ByteStoreError) {
    guard let find, hasTable else { return }
    let table = opened.table
    let found = try noting { _ throws(ByteStoreError) in
      try find { key throws(ByteStoreError) in try table.entry(of: key)?.value }
    }
    let blobs = BlobStore(store: directory.path, BlobStore.Options(), platform)
    for (id, place) in found ?? [] {
      try noting { _ throws(ByteStoreError) in try blobs.verify(id, at: place) }
      advance(place.storedBytes, id.description)
    }
  }
}
