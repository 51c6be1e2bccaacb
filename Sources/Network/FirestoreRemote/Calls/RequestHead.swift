// The parts of a request that do not depend on its content: target and fields.

package import FirestoreWire
internal import HTTPClient

/// The database that requests are about, and the app that sends them.
package struct RequestHead: Sendable, Equatable {
  package var database: DatabaseName
  /// The key of the app's project, which goes with each call.
  package var apiKey: String?
  /// The id of the app.
  package var appID: String?

  package init(database: DatabaseName, apiKey: String? = nil, appID: String? = nil) {
    self.database = database
    self.apiKey = apiKey
    self.appID = appID
  }

  /// The target of a verb of the REST API. `resource` is the name of a document, or of all documents.
  func target(of verb: String, at resource: String) -> String {
    let path = resource.split(separator: "/").map { percentEncoded(String($0)) }.joined(separator: "/")
    let query = apiKey.map { "?key=\(percentEncoded($0))" } ?? ""
    return "/v1/\(path):\(verb)\(query)"
  }

  /// The fields of a request. Servers find the database by them before they read the content.
  func fields(_ tokens: RequestTokens) -> [WebRequest.Field] {
    let project = percentEncoded(database.projectID)
    let id = percentEncoded(database.databaseID)
    let isDefault = database.databaseID == "(default)"
    var fields = [
      WebRequest.Field("google-cloud-resource-prefix", "projects/\(project)/databases/\(id)"),
      WebRequest.Field(
        "x-goog-request-params",
        isDefault ? "project_id=\(project)" : "project_id=\(project)&database_id=\(id)"),
      WebRequest.Field("x-goog-api-client", "gl-swift/ fire/ dugout/"),
    ]
    if let appID { fields.append(WebRequest.Field("x-firebase-gmpid", Self.visible(appID))) }
    if let token = tokens.user { fields.append(WebRequest.Field("authorization", "Bearer \(token.value)")) }
    if let token = tokens.app { fields.append(WebRequest.Field("x-firebase-appcheck", token.value)) }
    return fields
  }

  /// Text that can be the value of a field: an id with other characters is percent-encoded.
  private static func visible(_ text: String) -> String {
    text.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? text : percentEncoded(text)
  }
}
