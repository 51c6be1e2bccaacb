// Distinguishes URLs of local files.

import Foundation

extension URL {
  /// Whether the URL is a file or a directory of this machine. False for another scheme or host, and for
  /// a path with a NUL, where the system would end it.
  package var namesLocalFile: Bool {
    isFileURL && ["", "localhost"].contains(host ?? "")
      && !path(percentEncoded: true).contains("%00") && !path.isEmpty
  }
}
