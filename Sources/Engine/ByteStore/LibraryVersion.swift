// The versions that matter when a store is analysed elsewhere.

internal import CLZ4

package enum LibraryVersion {
  /// The store format that this library writes.
  package static var storeFormat: UInt16 { LogHeader.signature.version }

  /// The version of lz4 at run time, such as 1.9.4.
  package static var lz4: String {
    let number = LZ4_versionNumber()
    return "\(number / 10_000).\(number / 100 % 100).\(number % 100)"
  }
}
