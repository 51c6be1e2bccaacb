// A layer above the store that adds a context of repeated bytes to each log, so that crashes and faults also
// strike contexts.

internal import ByteStore

/// No commit of a campaign uses this key. If the key appears in the store, recovery has mistaken a context
/// for a commit.
struct RepeatedContext: UpperLayer, CheckpointPages {
  let bytes: Int

  private var entry: (key: [UInt8], value: [UInt8]) {
    (Array("context".utf8), [UInt8](repeating: 0xC7, count: bytes))
  }

  var logContext: [(key: [UInt8], value: [UInt8])] { [entry] }
  var logContextBytesMax: Int { Batch.bytes(ofPutOf: bytes, for: entry.key) }

  func freeze() -> any CheckpointPages { self }
  func regions() -> [(region: CheckpointRegion, pages: Int)] { [] }
  func payload(_ region: CheckpointRegion, _ page: Int) -> [UInt8] { [] }
}
