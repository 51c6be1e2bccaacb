// An app: a name, its options, and the teardowns that `delete` runs.
//
// A name is free, taken, or being deleted. `configure` takes a free name, and `delete` begins to delete a
// taken name. While a name is being deleted, no app is found under it, and no app can be configured with it.
// The name becomes free again when all teardowns have run, before `delete` calls its completion.

import ByteStore
import Dispatch
public import Foundation

/// The root of databases and buckets. Most programs have one app, the default app:
///
/// ```swift
/// FirebaseApp.configure()
/// ```
///
/// A process may have more apps, each with its own name and stores. Incorrect calls trap; see
/// `configure(name:options:)`.
public final class FirebaseApp: NSObject, Sendable {
  static let defaultName = "__FIRAPP_DEFAULT"

  /// `__FIRAPP_DEFAULT` for the default app.
  public let name: String

  /// The user who is signed in to this app.
  package let user = AppUser()
  private let values: FirebaseOptions.Values
  private let state = Locked(State())

  private struct State: Sendable {
    var isDataCollectionDefaultEnabled = true
    var teardowns: [(number: Teardown, body: @Sendable () -> Void)] = []
    var lastTeardown: UInt64 = 0
    var isTornDown = false
  }

  private static let registry = Locked(Registry())

  private struct Registry: Sendable {
    var apps: [String: FirebaseApp] = [:]
    var deleting: Set<String> = []
  }

  private init(name: String, values: FirebaseOptions.Values) {
    self.name = name
    self.values = values
  }

  /// Configures the default app with the default options, or with empty ones if the main bundle has no
  /// GoogleService-Info.plist. Traps if the default app is already configured.
  public class func configure() {
    configure(options: .defaultOptions() ?? FirebaseOptions(googleAppID: "", gcmSenderID: ""))
  }

  /// Configures the default app. Traps if it is already configured.
  public class func configure(options: FirebaseOptions) {
    configure(name: defaultName, options: options)
  }

  /// Configures an app with a copy of the options. The name consists of letters, digits, `-` and `_`.
  ///
  /// Traps if the name is invalid, if an app with this name exists, or if `delete` is still running for an
  /// app with this name.
  public class func configure(name: String, options: FirebaseOptions) {
    if let problem = problem(name: name) { ProgrammerError.trap(problem) }
    let app = FirebaseApp(name: name, values: options.values)
    let isNew = registry.withLock { registry in
      guard registry.apps[name] == nil, !registry.deleting.contains(name) else { return false }
      registry.apps[name] = app
      return true
    }
    if !isNew {
      let subject = name == defaultName ? "Default app" : "App named \(name)"
      ProgrammerError.trap("\(subject) has already been configured.")
    }
  }

  /// Returns the default app; nil before `configure` and after `delete`.
  public class func app() -> FirebaseApp? {
    app(name: defaultName)
  }

  /// Returns the app with this name; nil before `configure` and after `delete`.
  public class func app(name: String) -> FirebaseApp? {
    registry.withLock { $0.apps[name] }
  }

  /// All apps by name; nil if there are none.
  public class var allApps: [String: FirebaseApp]? {
    let apps = registry.withLock { $0.apps }
    return apps.isEmpty ? nil : apps
  }

  /// Terminates all instances created from the app, closes their stores and frees the app's name. Then calls
  /// the completion with true. If the app was deleted before, has no effect and calls the completion with
  /// false.
  ///
  /// All work is done on the calling thread before the call returns. The data on disk stays. The call does
  /// not wait for a running transaction block, because the block may need the calling thread. Later reads and
  /// commits of that transaction fail.
  public func delete(_ completion: @escaping (Bool) -> Void) {
    let isMine = Self.registry.withLock { registry in
      guard registry.apps[name] === self else { return false }
      registry.apps[name] = nil
      registry.deleting.insert(name)
      return true
    }
    if isMine {
      runTeardowns()
      _ = Self.registry.withLock { $0.deleting.remove(name) }
    }
    completion(isMine)
  }

  /// Calls ``delete(_:)`` on another thread, because closing a store can block.
  @discardableResult
  public nonisolated(nonsending) func delete() async -> Bool {
    await awaitValue { done in DispatchQueue.global().async { self.delete(done) } }
  }

  /// A copy of the options. Changing the copy does not affect the app.
  public var options: FirebaseOptions { FirebaseOptions(values) }

  /// Stored for the lifetime of the process, but without effect: no data is ever collected.
  public var isDataCollectionDefaultEnabled: Bool {
    get { state.withLock { $0.isDataCollectionDefaultEnabled } }
    set { state.withLock { $0.isDataCollectionDefaultEnabled = newValue } }
  }

  /// Creates an app for a database that is opened by its location. The app cannot be found by its name.
  package static func unregistered(name: String) -> FirebaseApp {
    FirebaseApp(name: name, values: FirebaseOptions.Values())
  }

  private static func problem(name: String) -> String? {
    guard !name.isEmpty else { return "Name cannot be empty." }
    let allowed = CharacterSet.alphanumerics.union(["-", "_"])
    guard name.unicodeScalars.allSatisfy(allowed.contains) else {
      return "App name can only contain alphanumeric, hyphen (-), and underscore (_) characters"
    }
    return nil
  }
}

// MARK: - For higher modules

extension FirebaseApp {
  /// Registers a teardown: `delete` runs `body` once, on the thread of `delete` and before it calls its
  /// completion. Teardowns run in reverse order of registration. A teardown may register another one. If the
  /// app is already torn down, `body` runs at once, so that an instance created late does not outlive the
  /// app.
  @discardableResult
  package func addTeardown(_ body: @escaping @Sendable () -> Void) -> Teardown {
    let (teardown, isTooLate) = state.withLock { state in
      state.lastTeardown += 1
      let teardown = Teardown(number: state.lastTeardown)
      if !state.isTornDown { state.teardowns.append((teardown, body)) }
      return (teardown, state.isTornDown)
    }
    if isTooLate { body() }
    return teardown
  }

  /// Removes a teardown whose work is completely done, so that `delete` does not wait for it. Has no effect
  /// if the teardown has already run.
  package func removeTeardown(_ teardown: Teardown) {
    // The teardown is released outside the lock, together with everything that its closure retains.
    let removed = state.withLock { state in
      state.teardowns.firstIndex { $0.number == teardown }.map { state.teardowns.remove(at: $0) }
    }
    withExtendedLifetime(removed) {}
  }

  /// Identifies a registered teardown.
  package struct Teardown: Hashable, Sendable {
    fileprivate let number: UInt64
  }

  private func runTeardowns() {
    while let body = nextTeardown() { body() }
  }

  private func nextTeardown() -> (@Sendable () -> Void)? {
    state.withLock { state in
      state.isTornDown = state.teardowns.isEmpty
      return state.teardowns.popLast()?.body
    }
  }

  package var isDefault: Bool { name == Self.defaultName }

  /// The project ID from the options, or the default project ID if the options have none.
  package var projectID: String { values.projectID ?? FirebaseOptions.Values.projectIDDefault }

  /// The bucket from the options, or the default bucket if the options have none.
  package var storageBucket: String {
    values.storageBucket ?? FirebaseOptions.Values.storageBucketDefault
  }

  /// The directory from the options. Reading it does not copy the options.
  package var directory: URL? { values.directory }
}
