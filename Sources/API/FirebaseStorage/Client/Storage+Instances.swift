// Where instances come from.

import FirebaseCore
import Foundation

extension Storage {
  private struct Key: Hashable {
    var app: String
    var bucket: String
  }

  private struct Instances: Sendable {
    var storages: [Key: Storage] = [:]
    /// One for each app: all its buckets are in one store.
    var clients: [String: StorageClient] = [:]
  }

  private static let instances = Guarded(Instances())

  /// The bucket that the default app's options name.
  public class func storage() -> Storage { storage(app: defaultApp) }

  /// A bucket of the default app, by a URL such as `gs://bucket`. Traps for anything else.
  public class func storage(url: String) -> Storage { storage(app: defaultApp, url: url) }

  /// The bucket that the app's options name.
  public class func storage(app: FirebaseApp) -> Storage { instance(app, app.storageBucket) }

  /// A bucket of an app, by a URL such as `gs://bucket`. Traps for anything else.
  public class func storage(app: FirebaseApp, url: String) -> Storage {
    // A bucket is not demanded here: without one, URLs of all are accepted.
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
      // An app that was deleted keeps nothing here: a new one of the same name may have come.
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
      // Outside the lock: an app that is gone already runs it at once.
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
