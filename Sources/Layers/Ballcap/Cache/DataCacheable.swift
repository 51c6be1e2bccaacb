// Objects whose last known state can be obtained without a read of the database.

/// An error for source compatibility. It is never thrown.
public enum DataCacheableError: Error {
  /// The server value is computed at the commit and is not known yet.
  case serverValueHasNotBeenDetermined
}

/// An object with its model in the document cache.
public protocol DataCacheable: AnyObject {
  /// The type of the data.
  associatedtype Model: Modelable & Codable
  var cache: Model? { get }
}

extension DataCacheable where Self: Object {
  /// The model as this process last read or committed it, through any instance. Nil if the document is not in
  /// the cache or does not decode.
  public var cache: Model? {
    (try? DocumentCache.shared.get(modelType: Model.self, reference: documentReference)) ?? nil
  }
}

extension Document: DataCacheable {}
