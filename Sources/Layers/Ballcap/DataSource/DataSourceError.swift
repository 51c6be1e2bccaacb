// What a data source reports besides the errors of the database.

/// Why a list cannot be made.
public enum DataSourceError: Error, Sendable {
  /// A `retrieve` block has not answered in time. What it answers later still counts.
  case timeout

  var description: String {
    switch self {
    case .timeout: "A document was not retrieved in time."
    }
  }
}
