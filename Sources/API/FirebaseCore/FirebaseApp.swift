// An app: a name, its options, and what ends with it.
//
// A name is free, taken, or leaving. `configure` takes a free one; `delete` turns a taken one into a
// leaving one, under which no app is found and none can be configured; the name is free again when
// all teardowns have run, which is before the completion of `delete`.

import Dispatch
public import Foundation

/// The root that databases and buckets hang from. Most programs have one, the default app:
///
/// ```swift
/// FirebaseApp.configure()
/// ```
///
/// A process may have more, each under its own name and with its own stores. Misuse traps, see
/// `configure(name:options:)`.
public final class FirebaseApp: NSObject, Sendable {
  static let defaultName = "__FIRAPP_DEFAULT"

  /// `__FIRAPP_DEFAULT` for the default app.
  public let name: String

  private let values: FirebaseOptions.Values
  private let state = Guarded(State())

  private struct State: Sendable {
    var isDataCollectionDefaultEnabled = true
    var teardowns: [(number: Teardown, body: @Sendable () -> Void)] = []
    var lastTeardown: UInt64 = 0
    var isTornDown = false
  }

  private static let registry = Guarded(Registry())

  private struct Registry: Sendable {
    var apps: [String: FirebaseApp] = [:]
    var leaving: Set<String> = []
  }

  private init(name: String, values: FirebaseOptions.Values) {
    self.name = name
    self.values = values
  }

  /// Configures the default app with the default options, or with plain ones where the main bundle
  /// has no GoogleService-Info.plist. Traps if there is a default app already.
  public class func configure() {
    configure(options: .defaultOptions() ?? FirebaseOptions(googleAppID: "", gcmSenderID: ""))
  }

  /// Configures the default app. Traps if there is one already.
  public class func configure(options: FirebaseOptions) {
    configure(name: defaultName, options: options)
  }

  /// Configures an app with a copy of the options. The name consists of letters, digits, `-` and `_`.
  ///
  /// Traps for any other name, and if there is an app of this name, or one whose `delete` still runs.
  public class func configure(name: String, options: FirebaseOptions) {
    if let problem = problem(name: name) { ProgrammerError.trap(problem) }
    let app = FirebaseApp(name: name, values: options.values)
    let isNew = registry.withLock { registry in
      guard registry.apps[name] == nil, !registry.leaving.contains(name) else { return false }
      registry.apps[name] = app
      return true
    }
    if !isNew {
      let who = name == defaultName ? "Default app" : "App named \(name)"
      ProgrammerError.trap("\(who) has already been configured.")
    }
  }

  /// The default app. Nil before `configure` and after `delete`.
  public class func app() -> FirebaseApp? {
    app(name: defaultName)
  }

  /// Nil before `configure` and after `delete`.
  public class func app(name: String) -> FirebaseApp? {
    registry.withLock { $0.apps[name] }
  }

  /// The apps by name. Nil if there are none.
  public class var allApps: [String: FirebaseApp]? {
    let apps = registry.withLock { $0.apps }
    return apps.isEmpty ? nil : apps
  }

  /// Ends the instances made from the app, closes its stores and frees its name, then calls the
  /// completion with true. With false and without effect if the app was deleted before.
  ///
  /// All of this happens on the calling thread and before the call returns. What the stores hold stays
  /// on disk. The block of a transaction is not waited for, since it may need the calling thread: what it
  /// reads or commits behind this fails.
  public func delete(_ completion: @escaping (Bool) -> Void) {
    let isMine = Self.registry.withLock { registry in
      guard registry.apps[name] === self else { return false }
      registry.apps[name] = nil
      registry.leaving.insert(name)
      return true
    }
    if isMine {
      runTeardowns()
      _ = Self.registry.withLock { $0.leaving.remove(name) }
    }
    completion(isMine)
  }

  /// As ``delete(_:)``, but away from the calling thread, which closing a store would block.
  @discardableResult
  public nonisolated(nonsending) func delete() async -> Bool {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        self.delete { continuation.resume(returning: $0) }
      }
    }
  }

  /// A copy: changing it does not change the app.
  public var options: FirebaseOptions { FirebaseOptions(values) }

  /// Accepted and kept for this process, without effect: no data is ever collected.
  public var isDataCollectionDefaultEnabled: Bool {
    get { state.withLock { $0.isDataCollectionDefaultEnabled } }
    set { state.withLock { $0.isDataCollectionDefaultEnabled = newValue } }
  }

  /// An app for a database that is opened by its place: nobody finds it by name.
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

// MARK: - For the modules above

extension FirebaseApp {
  /// Has `delete` run `body` once, on its own thread and before its completion; what was added last
  /// runs first. A teardown may add another. Once the app is torn down, `body` runs here and now, so
  /// that whoever came too late does not outlive the app.
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

  /// What was to end has ended by itself, all of it: `delete` would find nothing to wait for. Does nothing if it ran.
  package func removeTeardown(_ teardown: Teardown) {
    // Freed outside the lock, with all that it holds.
    let removed = state.withLock { state in
      state.teardowns.firstIndex { $0.number == teardown }.map { state.teardowns.remove(at: $0) }
    }
    withExtendedLifetime(removed) {}
  }

  /// What `addTeardown` returns.
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

  /// The project id of the options, or the default one where they have none.
  package var projectID: String { values.projectID ?? FirebaseOptions.Values.projectIDDefault }

  /// The bucket of the options, or the default one where they have none.
  package var storageBucket: String {
    values.storageBucket ?? FirebaseOptions.Values.storageBucketDefault
  }

  /// The directory of the options, without making a copy of them all.
  package var directory: URL? { values.directory }
}
