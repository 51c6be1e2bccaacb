// The choice between a program's own default directory and the one that earlier releases used.
//
// Earlier releases used one directory for all programs of a user, so that two programs locked each other out.
//
//   own directory   shared directory            choice
//   exists          any                         own
//   missing         missing                     own
//   missing         exists                      shared, with a notice
//   missing         open in another program     own, with a notice
//
// A second process of this program gets the shared directory, and the error that it is in use. A new and
// empty database would be worse, because the next start would find it instead of the data.

import ByteStore
import Foundation

package struct DefaultDirectory {
  package let own: String
  package let shared: String

  package init(own: String, shared: String) {
    self.own = own
    self.shared = shared
  }

  package struct Choice: Equatable {
    package var path: String
    /// The text to print; nil if the choice is no surprise.
    package var notice: String?

    package init(path: String, notice: String? = nil) {
      self.path = path
      self.notice = notice
    }
  }

  private static let choices = Locked<[String: String]>([:])

  /// The directory to use. The choice is made once per process. Prints the notice, if any, to standard error.
  var path: String {
    Self.choices.withLock { choices in
      if let known = choices[own] { return known }
      let choice = choice(program: ProgramName.ofThisProcess)
      choices[own] = choice.path
      if let notice = choice.notice {
        // Errors while writing the notice are ignored.
        try? FileHandle.standardError.write(contentsOf: Data("[FirebaseCore] \(notice)\n".utf8))
      }
      return choice.path
    }
  }

  /// `program` is the name of this program, to be compared with the name of the program that has the shared
  /// directory open. Writes nothing.
  package func choice(program: String?) -> Choice {
    guard !isUsed(own), isUsed(shared) else { return Choice(path: own) }
    // A directory that this process has open is not in use by another program.
    if !AppStores.shared.directories.contains(shared), case .held(let holder) = ByteStore.use(of: shared),
      let holder, let other = ProgramName.ofProcess(holder), let program, other != program
    {
      return Choice(path: own, notice: noticeOfOwn(other, holder))
    }
    return Choice(path: shared, notice: noticeOfShared)
  }

  /// Whether a directory has any entry.
  private func isUsed(_ path: String) -> Bool {
    let names = try? FileManager.default.contentsOfDirectory(atPath: path)
    return names?.isEmpty == false
  }

  private var noticeOfShared: String {
    // An empty directory must not be there, because `mv` would move the database into it.
    let clearing = FileManager.default.fileExists(atPath: own) ? "rmdir \(quoted(own)) && " : ""
    return "The database is in \(shared), a directory that earlier releases shared between all programs. Now "
      + "each program has a directory of its own, which is \(own) for this one. To move the database there, stop "
      + "all programs that use it, and run: \(clearing)\(commands)"
  }

  private func noticeOfOwn(_ program: String, _ processID: Int32) -> String {
    "The database is in \(own), because \(program) (process \(processID)) has \(shared) open, the directory that "
      + "earlier releases shared between all programs. If that directory has the data of this program, stop both "
      + "programs and run: mv \(quoted(own)) \(quoted(own + ".before")) && \(commands)"
  }

  private var commands: String {
    let parent = own.split(separator: "/").dropLast().map { "/\($0)" }.joined()
    return "mkdir -p \(quoted(parent)) && mv \(quoted(shared)) \(quoted(own))"
  }

  /// Quotes a path for a POSIX shell.
  private func quoted(_ path: String) -> String {
    "'" + path.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }
}
