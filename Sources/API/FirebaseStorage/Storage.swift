// A bucket as an app sees it: the way to references, and the owner of the open store.

public import FirebaseCore
public import Foundation

/// A bucket of objects.
///
/// Instances are cached: the same app and the same bucket give the same object, until the app is deleted. The objects
/// are in the app's default store, with the documents of its default database; it is opened by the first operation.
///
/// Completions and observers run on `callbackQueue`. Any thread may use an instance.
open class Storage: NSObject, NSCopying, @unchecked Sendable {
  // Unchecked only because the class is open: what can change is guarded.

  /// Whose storage it is.
  public let app: FirebaseApp
  /// Empty for an instance that takes URLs of any bucket.
  let bucket: String
  let client: StorageClient
  private let settings: Guarded<Settings>

  private struct Settings: Sendable {
    var maxUploadRetryTime: TimeInterval = 600
    var maxDownloadRetryTime: TimeInterval = 600
    var maxOperationRetryTime: TimeInterval = 120
    var uploadChunkSizeBytes = Int64.max
    var callbackQueue = DispatchQueue.main
    var host = StorageHost()
    var hasReferences = false
  }

  init(app: FirebaseApp, bucket: String, client: StorageClient) {
    self.app = app
    self.bucket = bucket
    self.client = client
    settings = Guarded(Settings())
  }

  // MARK: Settings

  /// With a remote: for how many seconds an upload waits for an answer before it fails with `unknown`. What it has put here
  /// goes on waiting to be sent. A store of this machine answers at once.
  public var maxUploadRetryTime: TimeInterval {
    get { settings.withLock { $0.maxUploadRetryTime } }
    set { settings.withLock { $0.maxUploadRetryTime = newValue } }
  }

  /// With a remote: for how many seconds a download of what is not here asks one that cannot be reached, since the last
  /// bytes came. A store of this machine answers at once.
  public var maxDownloadRetryTime: TimeInterval {
    get { settings.withLock { $0.maxDownloadRetryTime } }
    set { settings.withLock { $0.maxDownloadRetryTime = newValue } }
  }

  /// With a remote: for how many seconds other operations do the one or the other. A store of this machine answers at
  /// once.
  public var maxOperationRetryTime: TimeInterval {
    get { settings.withLock { $0.maxOperationRetryTime } }
    set { settings.withLock { $0.maxOperationRetryTime = newValue } }
  }

  /// How much an upload takes at a time. A store of this machine takes no more than a megabyte at once.
  public var uploadChunkSizeBytes: Int64 {
    get { settings.withLock { $0.uploadChunkSizeBytes } }
    set { settings.withLock { $0.uploadChunkSizeBytes = newValue } }
  }

  /// Where completions and observers run. A program without a main loop sets another, and marks its closures
  /// `@Sendable`.
  public var callbackQueue: DispatchQueue {
    get { settings.withLock { $0.callbackQueue } }
    set { settings.withLock { $0.callbackQueue = newValue } }
  }

  /// Of a time in seconds; what is none, or less than nothing, is nothing.
  static func microseconds(_ seconds: TimeInterval) -> Int64 {
    seconds > 0 ? Int64(min(seconds, 1e9) * 1e6) : 0
  }

  var host: StorageHost { settings.withLock { $0.host } }

  /// Names the host of download URLs. Traps for an empty host, a negative port, and once there are references.
  open func useEmulator(withHost host: String, port: Int) {
    if host.isEmpty { ProgrammerError.trap("Cannot connect to host with empty string.") }
    if port < 0 { ProgrammerError.trap("Port must be greater than or equal to zero.") }
    let isLate = settings.withLock { settings in
      if !settings.hasReferences { settings.host = StorageHost(name: host, port: port) }
      return settings.hasReferences
    }
    if isLate {
      ProgrammerError.trap(
        "Cannot connect to emulator after Storage SDK initialization. Call useEmulator(host:port:) before "
          + "creating a Storage reference or trying to load data.")
    }
  }

  // MARK: References

  /// The root of the bucket.
  open func reference() -> StorageReference {
    if bucket.isEmpty {
      ProgrammerError.trap("This instance has no bucket of its own: use reference(forURL:).")
    }
    return reference(StoragePath(bucket: bucket))
  }

  /// The object that a URL of either form names. Traps for a bad URL, and for one of another bucket.
  open func reference(forURL url: String) -> StorageReference {
    do throws(StorageError) {
      return reference(try path(of: url))
    } catch {
      ProgrammerError.trap(error.localizedDescription)
    }
  }

  /// The object that a URL of either form names. Throws `pathError` for a bad one, `bucketMismatch` for one of another
  /// bucket.
  open func reference(for url: URL) throws -> StorageReference {
    reference(try path(of: url.absoluteString))
  }

  /// `reference().child(path)`.
  open func reference(withPath path: String) -> StorageReference { reference().child(path) }

  private func path(of url: String) throws(StorageError) -> StoragePath {
    let path = try StoragePath(url: url)
    guard bucket.isEmpty || bucket.utf8.elementsEqual(path.bucket.utf8) else {
      throw .bucketMismatch(
        message: "The URL is of bucket \(path.bucket), and this instance is of bucket \(bucket).")
    }
    return path
  }

  private func reference(_ path: StoragePath) -> StorageReference {
    settings.withLock { $0.hasReferences = true }
    return StorageReference(self, path)
  }

  // MARK: Values

  /// A distinct instance that equals this one and works on the same store.
  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = Storage(app: app, bucket: bucket, client: client)
    let values = settings.withLock { $0 }
    copy.settings.withLock { $0 = values }
    return copy
  }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Storage else { return false }
    return app === other.app && bucket.utf8.elementsEqual(other.bucket.utf8)
  }

  open override var hash: Int { ObjectIdentifier(app).hashValue ^ bucket.utf8.count }
}

/// Where download URLs lead.
struct StorageHost: Sendable {
  var name = "localhost"
  var port = 9199
}
