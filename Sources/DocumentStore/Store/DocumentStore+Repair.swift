// Looking at a store of documents for damage, and getting out of it what can be read.

package import ByteStore

extension DocumentStore {
  /// Verifies every byte of a store that nobody has open, and that every record is one. Changes nothing.
  package static func check(
    _ path: String, platform: Platform = .real, progress: ((CheckProgress) -> Void)? = nil
  ) throws(DocumentStoreError) -> CheckReport {
    do throws(ByteStoreError) {
      let inspector = RecordInspector(ShapeDictionary())
      let report = try ByteStore.check(
        path, platform: platform, inspect: inspector.problem(of:_:), findBlobs: inspector.blobs,
        progress: progress)
      guard inspector.hasMissed else { return report }
      // A record lay before the definition of its shape: now all definitions are known.
      inspector.hasMissed = false
      return try ByteStore.check(
        path, platform: platform, inspect: inspector.problem(of:_:), findBlobs: inspector.blobs,
        progress: progress)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// The same for this store, while it is in use.
  package func check(
    progress: ((CheckProgress) -> Void)? = nil
  ) throws(DocumentStoreError) -> CheckReport {
    do throws(ByteStoreError) {
      let inspector = RecordInspector(indexes.shapes)
      return try bytes.check(
        inspect: inspector.problem(of:_:), findBlobs: inspector.blobs, progress: progress)
    } catch {
      throw DocumentStoreError(error)
    }
  }

  /// Makes a store that opens, of all that can be read of a damaged one; the originals stay, under other
  /// names. A healthy store is left alone.
  package static func salvage(
    _ path: String, platform: Platform = .real, progress: ((CheckProgress) -> Void)? = nil
  ) throws(DocumentStoreError) -> SalvageReport {
    do throws(ByteStoreError) {
      return try ByteStore.salvage(
        path, platform: platform, restore: IndexSet.definitions(in:), progress: progress)
    } catch {
      throw DocumentStoreError(error)
    }
  }
}

/// What a check of a store of documents looks for in its keys and values.
private final class RecordInspector {
  private let shapes: ShapeDictionary
  private var table: ShapeTable
  /// A record of an unknown shape came before a definition.
  fileprivate(set) var hasMissed = false
  private var blobIDs: Set<BlobID> = []
  private var hasProblem = false

  init(_ shapes: ShapeDictionary) {
    self.shapes = shapes
    table = shapes.table
  }

  /// What is wrong with a key and its value, or nil.
  func problem(of key: RawSpan, _ value: RawSpan) -> String? {
    if let id = Shape.id(of: key) { return problem(ofShape: id, value) }
    // Other keyspaces have other values.
    guard DocumentKey.isOfDocument(key) else { return nil }
    guard let path = DocumentKey.decode([UInt8](copying: key)) else { return "a key that is no path" }
    if let id = BlobRecord.id(path) { blobIDs.insert(id) }
    do throws(RecordError) {
      try RecordCodec.check(value, table)
      return nil
    } catch {
      hasProblem = true
      return "a record of \(path) that is none: at its byte \(error.offset), \(error.expected) was expected"
    }
  }

  /// Those that a record names as of the last commit. None while definitions of shapes are missing.
  func blobs(
    _ value: ([UInt8]) throws(ByteStoreError) -> [UInt8]?
  ) throws(ByteStoreError) -> [(id: BlobID, place: BlobPlace)] {
    guard !hasMissed else { return [] }
    var blobs: [(id: BlobID, place: BlobPlace)] = []
    for id in blobIDs.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
      guard let record = try value(DocumentKey.encode(BlobRecord.path(id))),
        let fields = try? RecordCodec.decodeFields(record.rawSpan, table),
        let place = BlobRecord.place(fields)
      else { continue }
      blobs.append((id, place))
    }
    return blobs
  }

  private func problem(ofShape id: Int, _ definition: RawSpan) -> String? {
    guard let shape = Shape(id: id, definition: definition) else { return "a shape that is none" }
    if table.shapes.indices.contains(id), let known = table.shapes[id] {
      return known.names.areSameUTF8(as: shape.names) ? nil : "a shape that the store knows as another"
    }
    shapes.add(shape)
    table = shapes.table
    hasMissed = hasMissed || hasProblem
    return nil
  }
}
