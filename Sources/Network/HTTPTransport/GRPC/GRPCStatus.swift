// The end of a call of gRPC.

/// The status with which a call ends.
package struct GRPCStatus: Error, Sendable, Equatable {
  /// The number of the status, from 0 to 16.
  package var code: Int
  /// A sentence for the developer of the client. Empty if the call has succeeded.
  package var message: String

  package init(code: Int, message: String = "") {
    self.code = code
    self.message = message
  }

  package static let ok = GRPCStatus(code: 0)

  // The errors that the transport itself reports.

  static func deadlineExceeded(_ message: String) -> GRPCStatus { GRPCStatus(code: 4, message: message) }
  static let resourceExhaustedCode = 8

  static func resourceExhausted(_ message: String) -> GRPCStatus {
    GRPCStatus(code: resourceExhaustedCode, message: message)
  }
  static func unimplemented(_ message: String) -> GRPCStatus { GRPCStatus(code: 12, message: message) }
  static func internalError(_ message: String) -> GRPCStatus { GRPCStatus(code: 13, message: message) }
}
