// A client of Firestore's emulator over its REST API.

import DocumentStore
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct EmulatorClient {
  /// An error response of the emulator.
  struct Refusal: Error {
    var status: Int
    var message: String
  }

  private let host: String
  private let json: EmulatorJSON
  private let session: URLSession

  /// Creates a client. Each project is a separate database.
  init(host: String, project: String) {
    self.host = host
    json = EmulatorJSON(database: "projects/\(project)/databases/(default)")
    session = URLSession.shared
  }

  func save(_ documents: [StoredDocument]) async throws {
    let writes = documents.map(json.write).joined(separator: ",")
    _ = try await post(":commit", #"{"writes":[\#(writes)]}"#)
  }

  /// Returns the paths of a query's result, in order.
  func paths(_ query: StructuredQuery) async throws -> [String] {
    let answer = try await post(
      parent(of: query) + ":runQuery", #"{"structuredQuery":\#(json.query(query))}"#)
    let prefix = json.database + "/documents/"
    let paths = (answer as? [[String: Any]] ?? []).compactMap { item in
      ((item["document"] as? [String: Any])?["name"] as? String).map { String($0.dropFirst(prefix.count)) }
    }
    // A query for the last documents was sent in reverse order, so its result is reversed again.
    if case .last = query.limit { return paths.reversed() }
    return paths
  }

  private func parent(of query: StructuredQuery) -> String {
    EmulatorJSON.parent(of: query).map { "/\($0)" } ?? ""
  }

  private func post(_ place: String, _ body: String) async throws -> Any {
    try await post(to: "/v1/\(json.database)/documents\(place)", body)
  }

  func post(to text: String, _ body: String) async throws -> Any {
    try JSONSerialization.jsonObject(with: try await answer(to: text, body), options: [.fragmentsAllowed])
  }

  /// Sends a request and returns the body of the response.
  func answer(to text: String, _ body: String) async throws -> Data {
    var allowed = CharacterSet.urlPathAllowed
    allowed.remove(charactersIn: "%")
    guard let path = text.addingPercentEncoding(withAllowedCharacters: allowed),
      let url = URL(string: "http://\(host)\(path)")
    else { throw Refusal(status: 0, message: "no address for \(text)") }
    var request = URLRequest(url: url)
    request.httpMethod = "POST"
    request.httpBody = Data(body.utf8)
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.setValue("Bearer owner", forHTTPHeaderField: "Authorization")
    let (data, response) = try await session.data(for: request)
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    guard status == 200 else {
      let object = try JSONSerialization.jsonObject(with: data, options: [.fragmentsAllowed])
      let error = ((object as? [Any])?.first ?? object) as? [String: Any]
      let message = (error?["error"] as? [String: Any])?["message"] as? String
      throw Refusal(status: status, message: message ?? String(decoding: data, as: UTF8.self))
    }
    return data
  }
}
