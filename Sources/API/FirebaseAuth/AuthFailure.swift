// The failures of this module, and their only translation to `NSError` with Firebase's domain and codes.

import ByteStore
import Foundation

enum AuthFailure: Error {
  /// The app with this name was deleted or is not configured.
  case appIsNotConfigured(String)
  case invalidID
  case file(UserFile.Failure)

  var error: NSError {
    switch self {
    case .appIsNotConfigured(let name):
      make(
        .operationNotAllowed,
        "The app \(name) was deleted, or its database was opened by its location. Configure an app with FirebaseApp, "
          + "or call Firestore.changeUser(_:).")
    case .invalidID:
      make(.invalidCredential, "The ID of a user must have 1 to \(UserFile.idBytesMax) bytes in UTF-8.")
    case .file(.system(let failure)):
      make(.keychainError, "The user of the app cannot be kept: \(failure).")
    case .file(.damaged(let path)):
      make(
        .keychainError,
        "\(path) is damaged. Restore the file from a backup. Or delete it: then no user is signed in, and the next "
          + "anonymous user has another ID.")
    case .file(.tooLarge):
      make(
        .invalidCredential,
        "The texts of a user may have \(UserFile.bytesMax >> 10) KiB together. Shorten them: a photo URL should name the "
          + "picture, not contain it.")
    case .file(.newerFormat(let path)):
      make(.keychainError, "\(path) was written by a later release.")
    }
  }

  private func make(_ code: AuthErrorCode, _ message: String) -> NSError {
    NSError(
      domain: AuthErrorDomain, code: code.rawValue, userInfo: [NSLocalizedDescriptionKey: message])
  }
}
