// Code as apps write it for the original FirebaseAuth. A test compiles it in both language modes.

import Firebase
import FirebaseAuth

final class SessionModel {
  private var handle: AuthStateDidChangeListenerHandle?
  private var oldHandle: NSObjectProtocol?
  private(set) var name = ""

  func begin() {
    handle = Auth.auth().addStateDidChangeListener { [weak self] auth, user in
      self?.name = user?.displayName ?? user?.email ?? "guest"
      print(auth.app?.name ?? "", auth.currentUser?.uid ?? "")
    }
    oldHandle = Auth.auth().addStateDidChangeListener { _, _ in }
  }

  func end() {
    if let handle { Auth.auth().removeStateDidChangeListener(handle) }
    if let oldHandle = oldHandle { Auth.auth().removeStateDidChangeListener(oldHandle) }
    handle = nil
  }

  func signIn(_ done: @escaping (String?) -> Void) {
    Auth.auth().signInAnonymously { (result, error) in
      if let error = error as NSError? {
        switch AuthErrorCode(rawValue: error.code) {
        case .networkError, .tooManyRequests: print("later")
        case .operationNotAllowed, .keychainError, .userDisabled: print("never")
        default:
          print(AuthErrorCode.Code(rawValue: error.code) == .internalError, error.domain == AuthErrorDomain)
        }
        return
      }
      guard let user = result?.user else { return }
      done(user.isAnonymous ? user.uid : nil)
    }
    Auth.auth().signInAnonymously()
  }

  func signOut() {
    do {
      try Auth.auth().signOut()
    } catch let error as NSError {
      print(error.domain == AuthErrors.domain, error.localizedDescription)
    }
  }
}

@MainActor
final class SessionScreen {
  private var handle: AuthStateDidChangeListenerHandle?
  private var user: User?

  func viewDidLoad() {
    handle = Auth.auth().addStateDidChangeListener { _, user in self.user = user }
  }

  deinit {
    if let handle { Auth.auth().removeStateDidChangeListener(handle) }
  }
}

func currentUser(of app: FirebaseApp) async throws -> User {
  let auth = Auth.auth(app: app)
  if let user = auth.currentUser { return user }
  do {
    let result: AuthDataResult = try await auth.signInAnonymously()
    return result.user
  } catch AuthErrorCode.networkError {
    return try await auth.signInAnonymously().user
  } catch let code as AuthErrorCode where code == .invalidCredential {
    throw code
  }
}

func profile(of user: User) -> (String, URL?) { (user.providerID, user.photoURL) }

func report(_ text: String) {
  guard let uid = Auth.auth().currentUser?.uid else { return }
  Firestore.firestore().collection("users").document(uid).collection("reports").addDocument(data: [
    "text": text
  ])
}
