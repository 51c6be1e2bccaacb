// What the process knows of a document without asking the database.

/// Never thrown; existing code names it.
public enum DataCacheableError: Error {
  /// The value is made when the write is committed, and is not known yet.
  case serverValueHasNotBeenDetermined
}

/// What keeps its data in the cache of documents.
public protocol DataCacheable: AnyObject {
  /// The type of the data.
  associatedtype Model: Modelable & Codable
  var cache: Model? { get }
}

extension DataCacheable where Self: Object {
  /// The model as this process last read or committed it, through whichever instance. Nil if it did neither,
  /// or does not remember, or if it does not decode.
  public var cache: Model? {
    (try? DocumentCache.shared.get(modelType: Model.self, reference: documentReference)) ?? nil
  }
}

extension Document: DataCacheable {}
