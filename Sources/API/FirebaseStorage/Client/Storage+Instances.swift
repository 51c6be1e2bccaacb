// The instances of `Storage`, one for each app and bucket.

import ByteStore
import FirebaseCore
import Foundation

extension Storage {
  private struct Key: Hashable {
    var app: String
    var bucket: String
  }

  private struct Instances: Sendable {
    var storages: [Key: Storage] = [:]
    /// One client for each app, because all its buckets are in one store.
    var clients: [String: StorageClient] = [:]
  }

  private static let instances = Locked(Instances())

  /// Returns the bucket that the options of the default app name.
  public class func storage() -> Storage { storage(app: defaultApp) }

  /// Returns a bucket of the default app by a URL such as `gs://bucket`. Traps for any other URL.
  public class func storage(url: String) -> Storage { storage(app: defaultApp, url: url) }

  /// Returns the bucket that the options of the app name.
  public class func storage(app: FirebaseApp) -> Storage { instance(app, app.storageBucket) }

  /// Returns a bucket of an app by a URL such as `gs://bucket`. Traps for any other URL.
  public class func storage(app: FirebaseApp, url: String) -> Storage {
    // The bucket may be missing here. Such an instance accepts URLs of all buckets.
    if url == "gs://" || url.isEmpty { return instance(app, "") }
    do throws(StorageError) {
      guard url.hasPrefix("gs://") else {
        ProgrammerError.trap("Storage.storage(url:) takes a URL such as gs://bucket, which \(url) is not.")
      }
      let path = try StoragePath(url: url)
      guard path.object.isEmpty else {
        ProgrammerError.trap("Storage.storage(url:) takes the URL of a bucket, without a path: \(url)")
      }
      return instance(app, path.bucket)
    } catch {
      ProgrammerError.trap(error.localizedDescription)
    }
  }

  private static var defaultApp: FirebaseApp {
    guard let app = FirebaseApp.app() else {
      ProgrammerError.trap(
        "Failed to get FirebaseApp instance. Please call FirebaseApp.configure() before using Storage")
    }
    return app
  }

  private static func instance(_ app: FirebaseApp, _ bucket: String) -> Storage {
    let key = Key(app: app.name, bucket: bucket)
    let (storage, newClient) = instances.withLock { instances -> (Storage, StorageClient?) in
      // The instances of a deleted app do not count, because a new app of the same name may exist.
      if let storage = instances.storages[key], storage.app === app { return (storage, nil) }
      let known = instances.clients[app.name].flatMap { $0.app === app ? $0 : nil }
      let client = known ?? StorageClient(app)
      let storage = Storage(app: app, bucket: bucket, client: client)
      if FirebaseApp.app(name: app.name) === app {
        instances.storages[key] = storage
        instances.clients[app.name] = client
      }
      return (storage, known == nil ? client : nil)
    }
    if let newClient {
      // Runs outside the lock, because the teardown of a deleted app runs at once.
      app.addTeardown {
        forget(newClient)
        newClient.close()
      }
    }
    return storage
  }

  private static func forget(_ client: StorageClient) {
    instances.withLock { instances in
      instances.storages = instances.storages.filter { $0.value.client !== client }
      instances.clients = instances.clients.filter { $0.value !== client }
    }
  }
}
