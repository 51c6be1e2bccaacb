// Files with certificates and keys.

#if TLS

internal import Libc

/// A file in PEM format, read whole.
struct PEMFile {
  static let bytesMax = 1024 * 1024

  let path: String
  let text: [UInt8]
  /// Whether users other than the owner and the group may read or change the file.
  let isOpenToOthers: Bool

  init(_ path: String) throws(TransportError) {
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.failure(path) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw Self.failure(path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw .certificate(file: path, reason: "it is not a regular file")
    }
    self.path = path
    isOpenToOthers = status.st_mode & S_IRWXO != 0
    text = try Self.read(descriptor, path)
    guard Self.isWhole(text) else {
      throw .certificate(file: path, reason: "it ends within a PEM block")
    }
  }

  private static func read(_ descriptor: Int32, _ path: String) throws(TransportError) -> [UInt8] {
    var text: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      let count = unsafe piece.withUnsafeMutableBytes { piece in
        unsafe Libc.read(descriptor, piece.baseAddress, piece.count)
      }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(path) }
      guard count > 0 else { return text }
      text += piece[..<count]
      guard text.count <= bytesMax else {
        throw .certificate(file: path, reason: "it is larger than \(bytesMax) bytes")
      }
    }
  }

  /// Whether the last line that looks like a border of a PEM block is the end of a block.
  ///
  /// OpenSSL ignores a last block whose first line has been cut.
  private static func isWhole(_ text: [UInt8]) -> Bool {
    let lines = text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    guard let border = lines.last(where: { $0.first == UInt8(ascii: "-") }) else { return true }
    let line = String(decoding: border, as: UTF8.self)
    return line.hasPrefix("-----END ") && line.hasSuffix("-----") && line.utf8.count > 14
  }

  private static func failure(_ path: String) -> TransportError {
    let error = errno
    return .certificate(
      file: path, reason: unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)")
  }
}

#endif
