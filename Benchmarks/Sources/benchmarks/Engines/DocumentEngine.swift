// Databases that hold the sample documents and answer questions about them. Every answer is the sum of
// `SampleDocument.weight` over its documents, so that engines that answer differently are found out: numbers as
// they are, texts by their lengths. Each engine visits every field of each document.

import Foundation

/// One database in a directory, loaded and with the indexes that its expert would make.
protocol DocumentEngine {
  static var name: String { get }
  init(_ directory: URL) throws
  /// Everything on stable storage when it returns; `number` counts from 0.
  func load(_ count: Int) throws
  /// W5: one document by its path.
  func get(_ number: Int) throws -> Int
  /// W6: of the collection `users`, those from a score on, in the order of scores.
  func byScore(from score: Double, limit: Int) throws -> Int
  /// W7: of the collection `users`, those of a town, newest first.
  func ofTown(_ town: String, limit: Int) throws -> Int
  /// W8: of all collections `users`, those made from a moment on, in that order.
  func anywhere(from createdAt: Int, limit: Int) throws -> Int
  /// W9: all documents.
  func scan() throws -> Int
  func close() throws
}
