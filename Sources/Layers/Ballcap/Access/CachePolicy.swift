// The sources that an object is read from, and their order.

/// The sources of a read and their order. Without a remote, the database is both server and cache, so all
/// policies read the same data.
public enum CachePolicy: Sendable {
  /// The cache alone. With a remote, reading a document that the cache has never seen fails with
  /// `unavailable`.
  case cacheOnly
  /// The server alone.
  case serverOnly
  /// The cache, then the server if the cache has no document or the cached document does not decode.
  case cacheElseServer
  /// The server, then the cache if the server cannot be reached.
  case serverElseCache
  /// The cache, then the server. The completion is called twice.
  case cacheThenServer
}
