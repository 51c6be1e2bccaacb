// The versions of this program and of its components.

import ByteStore

enum Version {
  static let number = "0.1.0"
  static var format: String { "\(LibraryVersion.storeFormat)" }
  static var lz4: String { LibraryVersion.lz4 }
}
