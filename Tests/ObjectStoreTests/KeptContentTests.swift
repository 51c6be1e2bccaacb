// A content is kept until the original files are removed if a salvage has quarantined the content's object
// record.

import ByteStore
import Foundation
import Harness
import StoreTools
import Testing

@testable import DocumentStore
@testable import ObjectStore

@Suite struct KeptContentTests {
  private func open(_ directory: TemporaryDirectory) throws -> DocumentStore {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.blobs.packedBytesMax = 2000
    return try DocumentStore.open(directory.path, options: options, platform: .real)
  }

  private func object(_ name: String) throws -> ObjectPath {
    ObjectPath(bucket: "bucket", name: try ObjectName(name))
  }

  private func put(_ bytes: [UInt8], _ name: String, in store: DocumentStore) throws {
    let source = UploadSource(file: nil, byteCount: UInt64(bytes.count), modified: 0)
    let upload = store.objects.upload(to: try object(name), from: source, attributes: ObjectAttributes())
    try upload.append(bytes)
    _ = try upload.finish(token: "token")
  }

  private func contents(_ directory: TemporaryDirectory) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/blobs").sorted()
  }

  /// Guards against a sweep that removes the content of a quarantined object record.
  @Test(arguments: [1000, 5000])
  func aSweepKeepsContentsWhileSalvagedOriginalsExist(byteCount: Int) throws {
    let directory = TemporaryDirectory()
    var store = try open(directory)
    try put([UInt8](repeating: 7, count: byteCount), "a", in: store)
    try store.close()
    var options = ByteStore.Options()
    options.maintenance = .manual
    let bytes = try ByteStore.open(directory.path, options: options)
    var batch = Batch(stamp: bytes.lastStamp + 1)
    try batch.put([9, 9, 9], for: DocumentKey.encode(try object("a").document))
    try bytes.commit(batch)
    try bytes.close()
    let before = try contents(directory)
    #expect(!before.isEmpty)

    #expect(try DocumentStore.salvage(directory.path).bytes.undecodable.count == 1)
    store = try open(directory)
    let kept = try store.objects.sweep(.everything)
    #expect(kept.blobs == 0 && kept.packs == 0)
    #expect(try contents(directory) == before)
    for name in try directory.names where name.hasPrefix("set-aside-") {
      try FileManager.default.removeItem(atPath: "\(directory.path)/\(name)")
    }
    #expect(try store.objects.sweep(.everything).blobs == 1)
    #expect(try store.objects.contents().recorded.isEmpty)
    try store.close()
  }
}
