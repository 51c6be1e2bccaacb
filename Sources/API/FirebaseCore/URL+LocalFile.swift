// Distinguishes URLs of local files.

import Foundation

extension URL {
  /// Whether the URL is the path of a file or a directory on this machine. False if the URL has another
  /// scheme or host. Also false if the path contains a NUL byte, because system calls would truncate the path
  /// there.
  package var namesLocalFile: Bool {
    isFileURL && ["", "localhost"].contains(host ?? "")
      && !path(percentEncoded: true).contains("%00") && !path.isEmpty
  }
}
