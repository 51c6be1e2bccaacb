// Where an object is read from, and in which order.

/// Without a remote, the database is server and cache at once: all of these read the same.
public enum CachePolicy: Sendable {
  /// The cache alone. With a remote, a document that it has never seen is `unavailable`.
  case cacheOnly
  /// The server alone.
  case serverOnly
  /// The cache, and if there is nothing that decodes, the server.
  case cacheElseServer
  /// The server, and the cache if it cannot be reached.
  case serverElseCache
  /// Both, the cache first; the completion is called twice.
  case cacheThenServer
}
