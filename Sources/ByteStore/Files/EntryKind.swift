// What can have a name in a directory.

/// What a name in a directory leads to; a link is not followed.
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
