// Objects, for benchmarks outside this package.

import ByteStore
public import DocumentStore

/// An interface for benchmarks; not for users, and subject to change.
@_spi(Measure)
public struct MeasuredObjectStore: Sendable {
  private let objects: ObjectStore

  public init(_ store: DocumentStore) { objects = store.objects }

  /// Stores an object, and returns once it is durable. Unlike the storage API, computes no MD5.
  public func put(_ bytes: [UInt8], _ name: String) throws {
    let writer = objects.blobs.writer()
    try writer.append(bytes.rawSpan)
    _ = try objects.put(
      writer.finish(), md5: [], at: try path(name), attributes: ObjectAttributes(), token: "token")
  }

  public func content(_ name: String) throws -> [UInt8]? {
    try objects.content(at: try path(name))?.reader.readAll()
  }

  private func path(_ name: String) throws -> ObjectPath {
    ObjectPath(bucket: "bucket", name: try ObjectName(name))
  }
}
