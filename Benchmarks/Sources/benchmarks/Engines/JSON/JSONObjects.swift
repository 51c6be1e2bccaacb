// Objects from JSON text.

import Foundation

/// Builds dictionaries and structs from JSON texts.
struct JSONObjects {
  private let decoder = JSONDecoder()

  func dictionary(_ text: UnsafeRawBufferPointer) throws -> [String: Any] {
    guard let dictionary = try JSONSerialization.jsonObject(with: Self.data(text)) as? [String: Any] else {
      throw BenchmarkFailure("a JSON text of a peer is no object")
    }
    return dictionary
  }

  func fields(_ text: UnsafeRawBufferPointer) throws -> SampleFields<Int> {
    try decoder.decode(SampleFields<Int>.self, from: Self.data(text))
  }

  /// Wraps the text without a copy. The text outlives the data, because the objects do not refer to it.
  private static func data(_ text: UnsafeRawBufferPointer) throws -> Data {
    guard let start = text.baseAddress else { throw BenchmarkFailure("a JSON text of a peer is empty") }
    return Data(
      bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: text.count, deallocator: .none)
  }

  /// Returns the weight of the document, after visiting every field of the text.
  static func weight(_ text: UnsafeRawBufferPointer) -> Int {
    text.baseAddress.map { SampleJSON.weight($0.assumingMemoryBound(to: UInt8.self)) } ?? -1
  }
}
