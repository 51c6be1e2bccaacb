// The state of a plain import that a later run needs.

import Foundation

/// Stored by an import for its next run: the options, and what the first run found out about the input. The
/// next run uses the same types, even if a later part of the file has changed.
struct PlainPlan: Codable {
  var options: PlainOptions
  /// The digest from which ids are computed.
  var head: [UInt8]
  /// Empty for JSON.
  var columns: [Column]

  var data: Data? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try? encoder.encode(self)
  }

  init(options: PlainOptions, head: [UInt8], columns: [Column]) {
    self.options = options
    self.head = head
    self.columns = columns
  }

  /// Returns nil if the data is not a plan with these options.
  init?(_ data: Data?, options: PlainOptions) {
    guard let data, let plan = try? JSONDecoder().decode(PlainPlan.self, from: data), plan.options == options
    else { return nil }
    self = plan
  }
}
