// The versions that matter when a store is analysed elsewhere.

package enum LibraryVersion {
  /// The store format that this library writes.
  package static var storeFormat: UInt16 { LogHeader.signature.version }

  /// The version of lz4 at run time, such as 1.9.4, or of the portable codec.
  package static var lz4: String { LZ4Block.version }
}
