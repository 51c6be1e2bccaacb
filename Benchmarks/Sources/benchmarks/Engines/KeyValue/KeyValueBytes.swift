// Stores of keys and values, without documents. They are compared with ByteStore, Dugout's lower layer.

@_spi(Measure) import ByteStore
import Foundation
import SampleDocuments

/// An open store in a directory. Several threads use it at once.
protocol ByteEngine: AnyObject, Sendable {
  associatedtype Writes: Sendable
  static var name: String { get }
  init(_ directory: URL) throws
  static func writes(_ numbers: Range<Int>) -> Writes
  /// Writes all entries. They are on stable storage when the call returns.
  func commit(_ writes: Writes) throws
  /// Returns whether the stored value equals the written one.
  func holds(_ number: Int) throws -> Bool
  func close() throws
}

/// Entries of about the size of a document.
enum SampleEntry {
  static func key(_ number: Int) -> [UInt8] { Array(SampleDocument(number).path.utf8) }

  static func value(_ number: Int) -> [UInt8] {
    let text = "\(number) writes about the sea, the harbour and the weather. "
    return Array(String(repeating: text, count: 1 + 240 / text.utf8.count).utf8.prefix(250))
  }
}

final class KeyValueBytes<Store: KeyValueStore>: ByteEngine {
  static var name: String { Store.name }
  private let store: Store

  init(_ directory: URL) throws { store = try Store(directory, EngineSetup()) }

  static func writes(_ numbers: Range<Int>) -> KeyValueChanges {
    var changes = KeyValueChanges()
    for number in numbers { changes.put(SampleEntry.key(number), SampleEntry.value(number)) }
    return changes
  }

  func commit(_ writes: KeyValueChanges) throws { try store.write(writes) }

  func holds(_ number: Int) throws -> Bool {
    let expected = SampleEntry.value(number)
    return try store.read { reader in
      try SampleEntry.key(number).withUnsafeBytes { key in
        try reader.get(key) { $0.elementsEqual(expected) ? 1 : 0 }
      }
    } == 1
  }

  func close() throws { try store.close() }
}

/// ByteStore.
final class DugoutBytes: ByteEngine {
  static let name = "dugout"
  private let store: MeasuredByteStore

  init(_ directory: URL) throws {
    store = try MeasuredByteStore(directory.appendingPathComponent("store").path)
  }

  static func writes(_ numbers: Range<Int>) -> [(key: [UInt8], value: [UInt8])] {
    numbers.map { (SampleEntry.key($0), SampleEntry.value($0)) }
  }

  func commit(_ writes: [(key: [UInt8], value: [UInt8])]) throws { try store.commit(writes) }

  func holds(_ number: Int) throws -> Bool {
    try store.value(for: SampleEntry.key(number)) == SampleEntry.value(number)
  }

  func close() throws { try store.close() }
}
