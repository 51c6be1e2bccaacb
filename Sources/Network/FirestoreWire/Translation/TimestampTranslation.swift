// Times of messages that name a version, and times of the engine.

package import DocumentStore
package import OfflineSync

extension Wire.Timestamp {
  /// The time in microseconds, which is the unit of all versions. Throws INVALID_ARGUMENT if the time has a
  /// fraction of a microsecond, because another version would be meant, or if it is not a time. `subject`
  /// names the time in the error.
  package func exact(_ subject: String) throws(RemoteError) -> StoredTimestamp {
    guard nanos % 1000 == 0 else { throw .invalid("timestamp cannot have more than microseconds precision") }
    guard let stored else { throw .invalid("The \(subject) is not a time of the years 1 to 9999.") }
    return stored
  }
}
