// The kinds of directory entries.

/// The kind of a directory entry. Symbolic links are not followed.
package enum EntryKind: Hashable, Sendable, CaseIterable {
  case file, directory, link, pipe, socket, device

  package var description: String {
    switch self {
    case .file: "a file"
    case .directory: "a directory"
    case .link: "a symbolic link"
    case .pipe: "a named pipe"
    case .socket: "a socket"
    case .device: "a device"
    }
  }
}

extension EntryKind: CustomStringConvertible {}
