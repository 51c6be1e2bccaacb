// The fields of responses of gRPC.

/// The fields and trailers that a response has.
enum GRPCResponseFields {
  /// The fields before the first message.
  static let initial = HTTPFields([
    "content-type": "application/grpc", "grpc-accept-encoding": "identity",
  ])

  private static let okTrailers = HTTPFields(["grpc-status": "0"])

  /// The fields after the last message.
  static func trailers(_ status: GRPCStatus) -> HTTPFields {
    guard status != .ok else { return okTrailers }
    var fields = HTTPFields()
    append(status, to: &fields)
    return fields
  }

  /// The only fields of a response without messages.
  static func trailersOnly(_ status: GRPCStatus) -> HTTPFields {
    var fields = initial
    append(status, to: &fields)
    return fields
  }

  private static func append(_ status: GRPCStatus, to fields: inout HTTPFields) {
    fields.append("grpc-status", String(status.code))
    guard !status.message.isEmpty else { return }
    fields.append("grpc-message", GRPCStatusText.encoded(status.message))
  }
}
