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
    /// The clients by app name. Each app has one client, because all buckets of an app are in one store.
    var clients: [String: StorageClient] = [:]
  }

  private static let instances = Locked(Instances())

  /// Returns the bucket that is named in the options of the default app.
  public class func storage() -> Storage { storage(app: defaultApp) }

  /// Returns the bucket of the default app that a URL such as `gs://bucket` names. Traps for any other form
  /// of URL.
  public class func storage(url: String) -> Storage { storage(app: defaultApp, url: url) }

  /// Returns the bucket that is named in the options of the app.
  public class func storage(app: FirebaseApp) -> Storage { instance(app, app.storageBucket) }

  /// Returns the bucket of an app that a URL such as `gs://bucket` names. Traps for any other form of URL.
  public class func storage(app: FirebaseApp, url: String) -> Storage {
    // The URL may lack the name of a bucket. The instance then accepts URLs of all buckets.
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
      // Ignore the instances of a deleted app, because a new app may have the same name.
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
      // Must run outside the lock: if the app is already deleted, `addTeardown` calls the closure
      // immediately.
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
