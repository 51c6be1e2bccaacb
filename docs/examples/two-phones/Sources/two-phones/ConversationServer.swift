// The server: the databases of a directory, for all clients that reach it.

import DugoutServer

enum ConversationServer {
  /// Serves until standard input ends. Prints the port when clients can connect.
  static func run(_ directory: String, port: Int) async throws {
    var configuration = ServerConfiguration()
    // Requests need no credentials, on this machine only.
    configuration.isEmulator = true
    configuration.port = port
    let server = try FirestoreServer(directory: directory, configuration: configuration)
    let input = Task {
      for await _ in Lines.read() {}
      server.shutDown()
    }
    try await server.run { Lines.write("port \($0.port)") }
    input.cancel()
  }
}
