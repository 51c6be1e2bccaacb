// The file that keeps the user of an app across restarts, and the ID of the anonymous user.
//
//   file         = a JSON object with these members, at most 64 KiB
//   format       = 1
//   anonymousID  = the ID of the anonymous user; absent until the first anonymous sign-in, and after this
//                  user became a member
//   user         = the user who is signed in: uid, isAnonymous, providerID, and displayName, email and
//                  photoURL if they are known; absent if no user is signed in
//
// The file is beside the directories of the databases. To replace it:
//  1. Write the new file under another name, and sync it.
//  2. Rename it, and sync the directory.
// The anonymous ID stays until a member has it, because pending writes belong to it.

import ByteStore
import Foundation

struct UserFile: Sendable {
  static let name = "user.json"
  static let idBytesMax = 255
  private static let newName = "user.json.new"
  private static let format = 1
  static let bytesMax = 64 << 10

  enum Failure: Error {
    case system(SystemFailure)
    case damaged(String)
    case newerFormat(String)
    /// The contents would be larger than a file that `read` accepts.
    case tooLarge
  }

  struct Contents: Hashable, Sendable {
    var anonymousID: String?
    var user: AuthIdentity?
  }

  private let directory: String
  private let platform: Platform

  init(in directory: String, platform: Platform = .real) {
    self.directory = directory
    self.platform = platform
  }

  private var path: String { "\(directory)/\(Self.name)" }

  // MARK: Reading

  /// Returns empty contents if there is no file.
  func read() throws(Failure) -> Contents {
    guard let bytes = try bytes() else { return Contents() }
    guard bytes.count < Self.bytesMax else { throw .damaged(path) }
    let decoder = JSONDecoder()
    guard let head = try? decoder.decode(Head.self, from: Data(bytes)) else { throw .damaged(path) }
    guard head.format <= Self.format else { throw .newerFormat(path) }
    guard let stored = try? decoder.decode(Stored.self, from: Data(bytes)) else { throw .damaged(path) }
    let contents = Contents(anonymousID: stored.anonymousID, user: stored.user?.identity)
    let ids = [contents.anonymousID, contents.user?.uid].compactMap { $0 }
    guard ids.allSatisfy(Self.isValid) else { throw .damaged(path) }
    return contents
  }

  static func isValid(_ id: String) -> Bool { (1...idBytesMax).contains(id.utf8.count) }

  private func bytes() throws(Failure) -> [UInt8]? {
    do throws(SystemFailure) {
      let folder = try platform.fileSystem.openDirectory(directory)
      guard try folder.kind(of: Self.name) != nil else { return nil }
      let file = try folder.openFile(Self.name, .read)
      defer { file.close() }
      return try file.readAll(Self.bytesMax, at: 0)
    } catch {
      if error.isMissingDirectory { return nil }
      throw .system(error)
    }
  }

  // MARK: Writing

  /// Replaces the file. On return, the contents are on stable storage. After an error, the file has the old
  /// or the new contents. Contents that are too large change nothing.
  func write(_ contents: Contents) throws(Failure) {
    let stored = Stored(
      format: Self.format, anonymousID: contents.anonymousID, user: contents.user.map(StoredUser.init))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Texts are the only values, so the encoder cannot fail.
    guard let data = try? encoder.encode(stored) else { throw .damaged(path) }
    guard data.count < Self.bytesMax else { throw .tooLarge }
    do throws(SystemFailure) { try replace([UInt8](data)) } catch { throw .system(error) }
  }

  private func replace(_ bytes: [UInt8]) throws(SystemFailure) {
    try platform.fileSystem.createDirectory(directory)
    let folder = try platform.fileSystem.openDirectory(directory)
    // A process that died may have left the new file.
    if try folder.kind(of: Self.newName) != nil { try folder.remove(Self.newName) }
    let file = try folder.createFile(Self.newName)
    defer { file.close() }
    // Safe: bytes have no padding, and the view is borrowed for the duration of the call.
    try unsafe file.writeAll(bytes.span.bytes, at: 0, platform: platform)
    try file.syncOnce(platform)
    try folder.rename(Self.newName, to: Self.name)
    try folder.sync()
  }

  // MARK: JSON

  private struct Head: Decodable { var format: Int }

  private struct Stored: Codable {
    var format: Int
    var anonymousID: String?
    var user: StoredUser?
  }

  private struct StoredUser: Codable {
    var uid: String
    var isAnonymous: Bool
    var providerID: String
    var displayName: String?
    var email: String?
    var photoURL: URL?

    init(_ identity: AuthIdentity) {
      uid = identity.uid
      isAnonymous = identity.isAnonymous
      providerID = identity.providerID
      displayName = identity.displayName
      email = identity.email
      photoURL = identity.photoURL
    }

    var identity: AuthIdentity {
      AuthIdentity(
        uid: uid, isAnonymous: isAnonymous, providerID: providerID, displayName: displayName, email: email,
        photoURL: photoURL)
    }
  }
}

extension SystemFailure {
  fileprivate var isMissingDirectory: Bool { operation == "open" && code == ENOENT }
}
