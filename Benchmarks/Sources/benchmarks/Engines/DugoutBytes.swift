// Our own store of bytes, without documents on top.

@_spi(Measure) import ByteStore
import Foundation

struct DugoutBytes: ByteEngine {
  static let name = "dugout"
  private let store: MeasuredByteStore

  init(_ directory: URL) throws {
    store = try MeasuredByteStore(directory.appendingPathComponent("store").path)
  }

  func commit(_ entries: ArraySlice<ByteEntry>) throws {
    try store.commit(entries.lazy.map { ($0.key, $0.value) })
  }

  func value(for key: [UInt8]) throws -> [UInt8]? { try store.value(for: key) }

  func close() throws { try store.close() }
}
