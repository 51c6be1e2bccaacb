// A bucket in the API. It creates references and uses the app's client, which owns the open store.

private import ByteStore
public import FirebaseCore
public import Foundation

/// A bucket of objects.
///
/// Instances are cached: until the app is deleted, the same app and bucket give the same instance. The
/// objects are stored in the app's default store, together with the documents of its default database. The
/// first operation opens that store.
///
/// Completions and observers run on `callbackQueue`. Any thread may use an instance.
open class Storage: NSObject, NSCopying, @unchecked Sendable {
  // The conformance is unchecked only because the class is open. A lock protects the mutable state.

  /// The app that the bucket belongs to.
  public let app: FirebaseApp
  /// The name of the bucket. Empty for an instance that accepts URLs of all buckets.
  let bucket: String
  let client: StorageClient
  private let settings: Locked<Settings>

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
    settings = Locked(Settings())
  }

  // MARK: Settings

  /// How long an upload waits for the remote's response before it fails with `unknown`, in seconds. After the
  /// failure, the stored change stays in the queue. Without a remote, the value has no effect.
  public var maxUploadRetryTime: TimeInterval {
    get { settings.withLock { $0.maxUploadRetryTime } }
    set { settings.withLock { $0.maxUploadRetryTime = newValue } }
  }

  /// How long a download retries when the remote is unreachable, in seconds since the last bytes arrived. It
  /// applies to contents that are not stored locally. Without a remote, the value has no effect.
  public var maxDownloadRetryTime: TimeInterval {
    get { settings.withLock { $0.maxDownloadRetryTime } }
    set { settings.withLock { $0.maxDownloadRetryTime = newValue } }
  }

  /// How long other operations wait for the remote's response or retry when the remote is unreachable, in
  /// seconds. Without a remote, the value has no effect.
  public var maxOperationRetryTime: TimeInterval {
    get { settings.withLock { $0.maxOperationRetryTime } }
    set { settings.withLock { $0.maxOperationRetryTime = newValue } }
  }

  /// The maximum size of one piece of an upload. The value has no effect, because uploads always use pieces
  /// below one megabyte.
  public var uploadChunkSizeBytes: Int64 {
    get { settings.withLock { $0.uploadChunkSizeBytes } }
    set { settings.withLock { $0.uploadChunkSizeBytes = newValue } }
  }

  /// The queue for completions and observers. The default is the main queue. A program without a main loop
  /// must set another queue and mark its closures `@Sendable`.
  public var callbackQueue: DispatchQueue {
    get { settings.withLock { $0.callbackQueue } }
    set { settings.withLock { $0.callbackQueue = newValue } }
  }

  /// Converts seconds to microseconds. Returns 0 for NaN and for negative values.
  static func microseconds(_ seconds: TimeInterval) -> Int64 {
    seconds > 0 ? Int64(min(seconds, 1e9) * 1e6) : 0
  }

  var host: StorageHost { settings.withLock { $0.host } }

  /// Sets the host of download URLs. Traps if the host is empty, if the port is negative, or if a reference
  /// was already created.
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
      ProgrammerError.trap("This instance has no default bucket: use reference(forURL:).")
    }
    return reference(StoragePath(bucket: bucket))
  }

  /// Returns a reference to the object that the URL names. The URL may be a `gs://` URL or a download URL.
  /// Traps if the URL is invalid or names another bucket.
  open func reference(forURL url: String) -> StorageReference {
    do throws(StorageError) {
      return reference(try path(of: url))
    } catch {
      ProgrammerError.trap(error.localizedDescription)
    }
  }

  /// Returns a reference to the object that the URL names. The URL may be a `gs://` URL or a download URL.
  /// Throws `pathError` if the URL is invalid, and `bucketMismatch` if it names another bucket.
  open func reference(for url: URL) throws -> StorageReference {
    reference(try path(of: url.absoluteString))
  }

  /// Returns `reference().child(path)`.
  open func reference(withPath path: String) -> StorageReference { reference().child(path) }

  private func path(of url: String) throws(StorageError) -> StoragePath {
    let path = try StoragePath(url: url)
    guard bucket.isEmpty || bucket.utf8.elementsEqual(path.bucket.utf8) else {
      throw .bucketMismatch(
        message: "The URL is in bucket \(path.bucket), and this instance has bucket \(bucket).")
    }
    return path
  }

  private func reference(_ path: StoragePath) -> StorageReference {
    settings.withLock { $0.hasReferences = true }
    return StorageReference(self, path)
  }

  // MARK: Values

  /// Returns a new instance that equals this one and uses the same store.
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

/// The host and port of download URLs.
struct StorageHost: Sendable {
  var name = "localhost"
  var port = 9199
}
