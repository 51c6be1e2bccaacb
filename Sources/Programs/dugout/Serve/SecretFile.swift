// The secret of the server's clients, in a file that only the server's user reads.

import Foundation

struct SecretFile {
  static let charactersMin = 16
  private static let bytesMax = 4096

  let text: String
  /// A sentence if other users of the machine can read the file.
  let warning: String?

  /// Reads the file without the line break at its end.
  init(file: String) throws {
    guard let handle = FileHandle(forReadingAtPath: file) else {
      let reason = String(cString: strerror(errno))
      throw CommandFailure(
        code: .inputOutput,
        message: "\(file) cannot be read: \(reason). This command creates it:\n\n  \(Self.creation(file))")
    }
    var bytes: [UInt8]
    do { bytes = Array(try handle.read(upToCount: Self.bytesMax + 1) ?? Data()) } catch {
      throw CommandFailure(
        code: .inputOutput, message: "\(file) cannot be read: \(error.localizedDescription)")
    }
    if bytes.last == 0x0A { bytes.removeLast() }
    if bytes.last == 0x0D { bytes.removeLast() }
    guard bytes.count <= Self.bytesMax, bytes.allSatisfy({ 0x21...0x7E ~= $0 }) else {
      throw CommandFailure(
        code: .usage,
        message:
          "\(file) is not a secret: it is one line of at most \(Self.bytesMax) visible ASCII characters, "
          + "without blanks. This command creates one:\n\n  \(Self.creation(file))")
    }
    guard bytes.count >= Self.charactersMin else {
      throw CommandFailure(
        code: .usage,
        message: "the secret in \(file) has \(Wording.count(bytes.count, "character")), and needs at least "
          + "\(Self.charactersMin). This command creates one:\n\n  \(Self.creation(file))")
    }
    text = String(decoding: bytes, as: UTF8.self)
    warning = Self.warning(file)
  }

  /// The command that creates a file with a secret.
  static func creation(_ file: String) -> String {
    "(umask 077; head -c 32 /dev/urandom | base64 > \(ShellWord.quoted(file)))"
  }

  /// A sentence if other users of the machine can read a file with a secret or a key. Nil for pipes.
  static func warning(_ file: String) -> String? {
    var status = stat()
    guard stat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o044 != 0
    else { return nil }
    return "Other users of this machine can read \(file): chmod 600 \(ShellWord.quoted(file))"
  }
}
