// Distinguishes URLs of local files.

import Foundation

extension URL {
  /// Whether the URL is a file or a directory of this machine. False for another scheme or host. Also false
  /// for a path with a NUL byte, where system calls would truncate it.
  package var namesLocalFile: Bool {
    isFileURL && ["", "localhost"].contains(host ?? "")
      && !path(percentEncoded: true).contains("%00") && !path.isEmpty
  }
}
