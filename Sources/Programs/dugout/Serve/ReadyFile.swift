// The file that says where a server accepts requests, for programs that start one and wait for it.

import DugoutServer
import Foundation

struct ReadyFile {
  private struct Content: Decodable {
    var port: Int
    var pid: Int32
  }

  let path: String

  /// Removes the file of a server that was killed, so that a program does not take it for this one's. The
  /// file of a process that runs stays until this server listens. Throws if there is a file of another kind.
  init(_ path: String) throws {
    self.path = path
    guard access(path, F_OK) == 0 else { return }
    guard let content = Self.content(at: path) else {
      throw CommandFailure(
        code: .usage,
        message:
          "--ready-file: \(path) is another file, and is not overwritten. Name one that does not exist.")
    }
    guard content.pid == getpid() || kill(content.pid, 0) != 0 else { return }
    unlink(path)
  }

  /// Writes a line of JSON: {"port": 8080, "adminPort": null, "pid": 4711}. The file appears with all of its
  /// content.
  func write(_ addresses: ServerAddresses) throws {
    let object: JSON = [
      "port": addresses.port, "adminPort": addresses.adminPort, "pid": Int(getpid()),
    ]
    let part = "\(path).\(getpid())"
    unlink(part)
    guard Self.write(Array((object.description + "\n").utf8), to: part), rename(part, path) == 0 else {
      let reason = String(cString: strerror(errno))
      unlink(part)
      throw CommandFailure(code: .inputOutput, message: "\(path) cannot be written: \(reason)")
    }
  }

  /// Removes the file, unless another server has replaced it.
  func remove() {
    if Self.content(at: path)?.pid == getpid() { unlink(path) }
  }

  /// Creates a file, which must not exist, not even as a link.
  private static func write(_ bytes: [UInt8], to path: String) -> Bool {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) } == bytes.count
  }

  private static func content(at path: String) -> Content? {
    (try? Data(contentsOf: URL(fileURLWithPath: path))).flatMap {
      try? JSONDecoder().decode(Content.self, from: $0)
    }
  }
}
